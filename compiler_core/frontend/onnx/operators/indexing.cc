// Reading and writing by tensors of indices: GatherElements, GatherND, ScatterElements, ScatterND,
// TensorScatter, ReverseSequence, MaxUnpool, Col2Im.
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/onnx/formula/check_indices.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

using ir::BinaryKind;
using ir::ScatterKind;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

mlir::Type i64(NodeContext& node) {
  return mlir::IntegerType::get(node.context(), 64);
}

llvm::ArrayRef<Dim> lead(const Shape& shape, std::int64_t count) {
  return llvm::ArrayRef(shape).take_front(static_cast<std::size_t>(count));
}
llvm::ArrayRef<Dim> tail(const Shape& shape, std::int64_t from) {
  return llvm::ArrayRef(shape).drop_front(static_cast<std::size_t>(from));
}

Result<ScatterKind> reductionOf(NodeContext& node) {
  KILN_ASSIGN(std::string name, node.text("reduction", "none"));
  if (name == "none") return ScatterKind::Set;
  if (name == "add") return ScatterKind::Add;
  if (name == "mul") return ScatterKind::Mul;
  if (name == "max" && node.opset() >= 18) return ScatterKind::Max;
  if (name == "min" && node.opset() >= 18) return ScatterKind::Min;
  return invalid("reduction '" + name + "' is not one of this opset");
}

// Rows of `data` (its first `dims` dimensions flattened) at i64 `positions` of any shape get `updates` in
// that order.
Result<Value> scatterRows(NodeContext& node, ScatterKind kind, Value data, std::int64_t dims, Value positions,
                          Value updates) {
  const Shape shape = dimsOf(data);
  Shape rows{ir::product(lead(shape, dims))}, rowUpdates{ir::product(dimsOf(positions))};
  llvm::append_range(rows, tail(shape, dims));
  llvm::append_range(rowUpdates, tail(shape, dims));
  KILN_ASSIGN(Value flat, node.reshape(data, rows));
  KILN_ASSIGN(positions, node.reshape(positions, {rowUpdates[0]}));
  KILN_ASSIGN(updates, node.reshape(updates, rowUpdates));
  KILN_ASSIGN(Value result, node.scatter(kind, flat, positions, updates));
  return node.reshape(result, shape);
}

// For indices along `axis` of `shape` (same rank as `indices`): the position of every element they name. With
// `nowhere`, those outside the axis become -1.
Result<Value> elementPositions(NodeContext& node, Value indices, const Shape& shape, std::int64_t axis,
                               bool nowhere) {
  const Shape indexShape = dimsOf(indices);
  if (indexShape.size() != shape.size()) return invalid("indices have another rank than the data");
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (static_cast<std::int64_t>(i) != axis && shape[i].isStatic() && indexShape[i].isStatic() &&
        indexShape[i].value() > shape[i].value())
      return invalid("indices of shape " + node.describe(indexShape) + " exceed data of shape " +
                     node.describe(shape));
  KILN_TRY(checkIndices(node, indices, shape[static_cast<std::size_t>(axis)]));
  KILN_ASSIGN(Value index, countFromEnd(node, indices, shape[static_cast<std::size_t>(axis)]));
  Values coordinates;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto dim = static_cast<std::int64_t>(i);
    KILN_ASSIGN(Value position, dim == axis ? Result<Value>(index) : coordinate(node, indexShape, dim));
    coordinates.push_back(position);
  }
  KILN_ASSIGN(Value flat, flatPosition(node, coordinates, shape));
  if (!nowhere) return flat;
  KILN_ASSIGN(Value inside, isInside(node, index, shape[static_cast<std::size_t>(axis)]));
  return orNowhere(node, inside, flat);
}

Result<Values> gatherElements(NodeContext& node) {
  KILN_ASSIGN(Value data, node.input(0));
  KILN_ASSIGN(Value indices, node.input(1));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 0));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(data)));
  const Shape shape = dimsOf(data);
  KILN_ASSIGN(Value positions, elementPositions(node, indices, shape, axis, false));
  KILN_ASSIGN(Value flat, node.reshape(data, {ir::product(shape)}));
  KILN_ASSIGN(Value result, node.gather(flat, positions, 0));
  return Values{result};
}

Result<Values> scatterElements(NodeContext& node) {
  KILN_ASSIGN(Value data, node.input(0));
  KILN_ASSIGN(Value indices, node.input(1));
  KILN_ASSIGN(Value updates, node.input(2));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 0));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(data)));
  ScatterKind kind = ScatterKind::Set;
  if (node.opset() >= 16) {
    KILN_ASSIGN(kind, reductionOf(node));
  }
  if (dimsOf(updates) != dimsOf(indices)) return invalid("updates and indices differ in shape");
  KILN_ASSIGN(Value positions, elementPositions(node, indices, dimsOf(data), axis, true));
  KILN_ASSIGN(Value result, scatterRows(node, kind, data, rankOf(data), positions, updates));
  return Values{result};
}

// Index tuples in the last dimension of `indices` (i64), into dimensions `first`, first + 1, ... of `shape`.
// The row they name, of the shape of `indices` without its last dimension; `inside` says where all are in
// range.
struct Tuples {
  Value row, inside;
  std::int64_t length = 0;
};
Result<Tuples> tuplePositions(NodeContext& node, Value indices, const Shape& shape, std::int64_t first) {
  const Shape indexShape = dimsOf(indices);
  if (indexShape.empty() || !indexShape.back().isStatic())
    return fail(Code::kUnimplemented, "the length of index tuples must be known");
  Tuples result;
  result.length = indexShape.back().value();
  if (result.length < 1) return fail(Code::kUnimplemented, "index tuples of length 0 are not served");
  if (first + result.length > static_cast<std::int64_t>(shape.size()))
    return invalid("index tuples of length " + std::to_string(result.length) + " for data of shape " +
                   node.describe(shape));
  const Shape tuples(indexShape.begin(), indexShape.end() - 1);
  Values coordinates;
  for (std::int64_t i = 0; i < result.length; ++i) {
    Dims offsets(indexShape.size(), 0), strides(indexShape.size(), 1);
    offsets.back() = i;
    Shape column = indexShape;
    column.back() = 1;
    KILN_ASSIGN(Value index, node.slice(indices, offsets, strides, column));
    KILN_ASSIGN(index, node.reshape(index, tuples));
    const Dim& extent = shape[static_cast<std::size_t>(first + i)];
    KILN_TRY(checkIndices(node, index, extent));
    KILN_ASSIGN(index, countFromEnd(node, index, extent));
    KILN_ASSIGN(Value inside, isInside(node, index, extent));
    if (result.inside) {
      KILN_ASSIGN(inside, node.binary(BinaryKind::And, result.inside, inside));
    }
    result.inside = inside;
    coordinates.push_back(index);
  }
  KILN_ASSIGN(result.row, flatPosition(node, coordinates, tail(shape, first)));
  return result;
}

Result<Values> gatherNd(NodeContext& node) {
  KILN_ASSIGN(Value data, node.input(0));
  KILN_ASSIGN(Value indices, node.input(1));
  std::int64_t batchDims = 0;
  if (node.opset() >= 12) {
    KILN_ASSIGN(batchDims, node.integer("batch_dims", 0));
  }
  const Shape shape = dimsOf(data), indexShape = dimsOf(indices);
  if (batchDims < 0 || batchDims >= static_cast<std::int64_t>(std::min(shape.size(), indexShape.size())))
    return invalid("batch_dims is outside the ranks");
  if (lead(shape, batchDims) != lead(indexShape, batchDims)) return invalid("batch dimensions differ");
  KILN_ASSIGN(Tuples tuples, tuplePositions(node, indices, shape, batchDims));
  Value row = tuples.row;
  const std::int64_t used = batchDims + tuples.length;
  const Shape outer(indexShape.begin(), indexShape.end() - 1);
  if (batchDims > 0) {
    Values batch;
    for (std::int64_t i = 0; i < batchDims; ++i) {
      KILN_ASSIGN(Value position, coordinate(node, outer, i));
      batch.push_back(position);
    }
    KILN_ASSIGN(Value start, flatPosition(node, batch, lead(shape, batchDims)));
    const Shape indexed(tail(shape, batchDims).take_front(static_cast<std::size_t>(tuples.length)));
    KILN_ASSIGN(start, timesExtent(node, start, ir::product(indexed)));
    KILN_ASSIGN(row, node.binary(BinaryKind::Add, row, start));
  }
  Shape rows{ir::product(lead(shape, used))};
  llvm::append_range(rows, tail(shape, used));
  KILN_ASSIGN(Value flat, node.reshape(data, rows));
  KILN_ASSIGN(Value result, node.gather(flat, row, 0));
  return Values{result};
}

Result<Values> scatterNd(NodeContext& node) {
  KILN_ASSIGN(Value data, node.input(0));
  KILN_ASSIGN(Value indices, node.input(1));
  KILN_ASSIGN(Value updates, node.input(2));
  ScatterKind kind = ScatterKind::Set;
  if (node.opset() >= 16) {
    KILN_ASSIGN(kind, reductionOf(node));
  }
  const Shape shape = dimsOf(data);
  KILN_ASSIGN(Tuples tuples, tuplePositions(node, indices, shape, 0));
  Shape expected = dimsOf(tuples.row);
  llvm::append_range(expected, tail(shape, tuples.length));
  if (dimsOf(updates) != expected)
    return invalid("updates have shape " + node.describe(dimsOf(updates)) + " instead of " +
                   node.describe(expected));
  KILN_ASSIGN(Value positions, orNowhere(node, tuples.inside, tuples.row));
  KILN_ASSIGN(Value result, scatterRows(node, kind, data, tuples.length, positions, updates));
  return Values{result};
}

Result<Values> tensorScatter(NodeContext& node) {
  KILN_ASSIGN(Value cache, node.input(0));
  KILN_ASSIGN(Value update, node.input(1));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", -2));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(cache)));
  KILN_ASSIGN(std::string mode, node.text("mode", "linear"));
  if (mode != "linear" && mode != "circular")
    return invalid("mode '" + mode + "' is neither linear nor circular");
  if (axis == 0) return invalid("the axis is the batch dimension");
  const Value starts = node.hasInput(2) ? node.inputs()[2] : Value();
  KILN_ASSIGN(Value result, writtenAt(node, {cache, update, starts}, axis, mode == "circular"));
  return Values{result};
}

}  // namespace

Result<Value> writtenAt(NodeContext& node, const CacheWrite& write, std::int64_t axis, bool circular) {
  const auto& [cache, update, starts] = write;
  const Shape shape = dimsOf(cache), updateShape = dimsOf(update);
  Shape expected = shape;
  if (updateShape.size() == shape.size()) expected[axis] = updateShape[axis];
  if (updateShape != expected)
    return invalid("the update differs from the cache in other dimensions than the axis");
  const Shape prefix(updateShape.begin(),
                     updateShape.begin() + axis + 1);  // sequence positions of the update
  KILN_ASSIGN(Value position, coordinate(node, prefix, axis));
  if (starts) {
    if (dimsOf(starts) != Shape{shape[0]})
      return invalid("write_indices has one element per sample of the batch");
    KILN_ASSIGN(Value start, alongAxis(node, starts, 0, axis + 1));
    KILN_ASSIGN(position, node.binary(BinaryKind::Add, position, start));
  }
  if (circular) {
    KILN_ASSIGN(Value extent, extentValue(node, shape[axis]));
    KILN_ASSIGN(position, node.binary(BinaryKind::Mod, position, extent));
  }
  KILN_ASSIGN(Value inside, isInside(node, position, shape[axis]));
  KILN_ASSIGN(Value outside, node.unary(ir::UnaryKind::Not, inside));
  KILN_TRY(node.countIndices(outside));
  Values coordinates;
  for (std::int64_t i = 0; i < axis; ++i) {
    KILN_ASSIGN(Value at, coordinate(node, prefix, i));
    coordinates.push_back(at);
  }
  coordinates.push_back(position);
  KILN_ASSIGN(position, flatPosition(node, coordinates, lead(shape, axis + 1)));
  KILN_ASSIGN(position, orNowhere(node, inside, position));
  return scatterRows(node, ScatterKind::Set, cache, axis + 1, position, update);
}

namespace {

Result<Values> reverseSequence(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value lengths, node.input(1));
  KILN_ASSIGN(std::int64_t timeAxis, node.integer("time_axis", 0));
  KILN_ASSIGN(std::int64_t batchAxis, node.integer("batch_axis", 1));
  const Shape shape = dimsOf(input);
  if (shape.size() < 2 || timeAxis + batchAxis != 1 || timeAxis * batchAxis != 0)
    return invalid("time_axis and batch_axis are 0 and 1");
  if (dimsOf(lengths) != Shape{shape[batchAxis]}) return invalid("sequence_lens has one element per sample");
  const Shape plane{shape[0], shape[1]};
  KILN_ASSIGN(Value length, node.cast(lengths, i64(node)));
  KILN_ASSIGN(length, alongAxis(node, length, batchAxis, 2));
  KILN_ASSIGN(Value time, coordinate(node, plane, timeAxis));
  KILN_ASSIGN(Value batch, coordinate(node, plane, batchAxis));
  KILN_ASSIGN(Value last, node.binary(BinaryKind::Sub, length, node.scalar(i64(node), 1)));
  KILN_ASSIGN(Value mirrored, node.binary(BinaryKind::Sub, last, time));
  KILN_ASSIGN(Value within, node.compare(ir::CompareKind::Lt, time, length));
  KILN_ASSIGN(Value from, node.select(within, mirrored, time));
  KILN_ASSIGN(Value row,
              flatPosition(node, timeAxis == 0 ? Values{from, batch} : Values{batch, from}, plane));
  Shape rows{plane[0] * plane[1]};
  llvm::append_range(rows, tail(shape, 2));
  KILN_ASSIGN(Value flat, node.reshape(input, rows));
  KILN_ASSIGN(Value result, node.gather(flat, row, 0));
  return Values{result};
}

// A list attribute with one entry per spatial dimension.
Result<Dims> perDimension(NodeContext& node, std::string_view name, std::size_t count,
                          std::int64_t fallback) {
  KILN_ASSIGN(Dims values, node.integers(name, Dims(count, fallback)));
  if (values.size() != count)
    return invalid("attribute '" + std::string(name) + "' has " + std::to_string(values.size()) + " entries");
  return values;
}

constexpr std::int64_t kMaxStep = std::int64_t{1} << 31;
Status checkRange(llvm::ArrayRef<std::int64_t> values, std::int64_t low) {
  for (std::int64_t value : values)
    if (value < low || value > kMaxStep)
      return invalid("the value " + std::to_string(value) + " is out of range");
  return {};
}

Result<Values> maxUnpool(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value indices, node.input(1));
  const Shape shape = dimsOf(input);
  if (shape.size() < 3) return invalid("the input has no spatial dimensions");
  const std::size_t spatial = shape.size() - 2;
  if (!node.hasAttribute("kernel_shape")) return invalid("attribute 'kernel_shape' is missing");
  KILN_ASSIGN(Dims kernel, perDimension(node, "kernel_shape", spatial, 1));
  KILN_ASSIGN(Dims strides, perDimension(node, "strides", spatial, 1));
  KILN_ASSIGN(Dims pads, perDimension(node, "pads", 2 * spatial, 0));
  KILN_TRY(checkRange(kernel, 1));
  KILN_TRY(checkRange(strides, 1));
  KILN_TRY(checkRange(pads, 0));
  if (dimsOf(indices) != shape) return invalid("indices and input differ in shape");
  // Indices count in the inferred shape; a given one adds room at the ends.
  Shape inferred{shape[0], shape[1]};
  for (std::size_t i = 0; i < spatial; ++i)
    inferred.push_back((shape[i + 2] - Dim(1)) * Dim(strides[i]) +
                       Dim(kernel[i] - pads[i] - pads[spatial + i]));
  for (const Dim& dim : inferred)
    if (dim.isStatic() && dim.value() <= 0) return invalid("the result has no elements");
  KILN_ASSIGN(Value zeros, node.filled(elementOf(input), inferred, 0));
  KILN_ASSIGN(Value positions, node.cast(indices, i64(node)));
  KILN_ASSIGN(Value inside, isInside(node, positions, ir::product(inferred)));
  KILN_ASSIGN(Value outside, node.unary(ir::UnaryKind::Not, inside));
  KILN_TRY(node.countIndices(outside));
  KILN_ASSIGN(Value result, scatterRows(node, ScatterKind::Set, zeros, rankOf(input), positions, input));
  if (!node.hasInput(2)) return Values{result};
  KILN_ASSIGN(Dims wanted, node.constantInput(2, "output_shape of MaxUnpool"));
  if (!ir::isStatic(inferred)) return fail(Code::kUnimplemented, "output_shape with symbolic dimensions");
  Dims room;
  if (wanted.size() != inferred.size()) return invalid("output_shape has another rank than the input");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < inferred[i].value() || wanted[i] > kMaxStep)
      return invalid("output_shape is smaller than the shape that the kernel gives");
    room.push_back(wanted[i] - inferred[i].value());
  }
  KILN_ASSIGN(result, node.pad(ir::PadMode::Constant, result, node.scalar(elementOf(input), 0),
                               Dims(room.size(), 0), room));
  return Values{result};
}

// Columns [N, C * product(block), L] are summed into images [N, C, image...].
Result<Values> col2Im(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Dims image, node.constantInput(1, "image_shape of Col2Im"));
  KILN_ASSIGN(Dims block, node.constantInput(2, "block_shape of Col2Im"));
  const std::size_t spatial = image.size();
  KILN_ASSIGN(Dims dilations, perDimension(node, "dilations", spatial, 1));
  KILN_ASSIGN(Dims pads, perDimension(node, "pads", 2 * spatial, 0));
  KILN_ASSIGN(Dims strides, perDimension(node, "strides", spatial, 1));
  for (const Dims& positive : {image, block, dilations, strides}) KILN_TRY(checkRange(positive, 1));
  KILN_TRY(checkRange(pads, 0));
  const Shape shape = dimsOf(input);
  if (shape.size() != 3 || block.size() != spatial || spatial == 0)
    return invalid("needs columns [N, C * block, L] and shapes of the image and the block of one rank");
  // Positions of the block in the image per dimension, and within it.
  Shape columns;
  Dim blocks = 1, steps = 1;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t extent = image[i] + pads[i] + pads[spatial + i] - (dilations[i] * (block[i] - 1) + 1);
    if (extent < 0) return invalid("the block is larger than the padded image");
    columns.push_back(extent / strides[i] + 1);
    blocks = blocks * Dim(block[i]);
    steps = steps * columns.back();
  }
  auto channels = ir::exactDiv(shape[1], blocks);
  if (!channels || !(shape[2] == steps))
    return unfit("the columns do not fit image, block and strides", {shape[1], shape[2]});
  // [N, C, block..., columns...]
  Shape all{shape[0], *channels};
  for (std::int64_t extent : block) all.push_back(extent);
  llvm::append_range(all, columns);
  Shape target{shape[0], *channels};
  Values coordinates;
  Value inside;
  for (std::size_t i = 0; i < 2; ++i) {
    KILN_ASSIGN(Value at, coordinate(node, all, static_cast<std::int64_t>(i)));
    coordinates.push_back(at);
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    target.push_back(image[i]);
    KILN_ASSIGN(Value within, coordinate(node, all, static_cast<std::int64_t>(2 + i)));
    KILN_ASSIGN(Value step, coordinate(node, all, static_cast<std::int64_t>(2 + spatial + i)));
    KILN_ASSIGN(within, timesExtent(node, within, dilations[i]));
    KILN_ASSIGN(step, timesExtent(node, step, strides[i]));
    KILN_ASSIGN(Value at, node.binary(BinaryKind::Add, within, step));
    KILN_ASSIGN(at, node.binary(BinaryKind::Sub, at, node.scalar(i64(node), static_cast<double>(pads[i]))));
    KILN_ASSIGN(Value here, isInside(node, at, image[i]));
    if (inside) {
      KILN_ASSIGN(here, node.binary(BinaryKind::And, inside, here));
    }
    inside = here;
    coordinates.push_back(at);
  }
  KILN_ASSIGN(Value positions, flatPosition(node, coordinates, target));
  KILN_ASSIGN(positions, orNowhere(node, inside, positions));
  KILN_ASSIGN(Value zeros, node.filled(elementOf(input), target, 0));
  KILN_ASSIGN(Value result, scatterRows(node, ScatterKind::Add, zeros,
                                        static_cast<std::int64_t>(target.size()), positions, input));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "Col2Im", 18, kMaxOpset, col2Im},
    {"", "GatherElements", 11, kMaxOpset, gatherElements},
    {"", "GatherND", 11, kMaxOpset, gatherNd},
    {"", "MaxUnpool", 9, kMaxOpset, maxUnpool},
    {"", "ReverseSequence", 10, kMaxOpset, reverseSequence},
    {"", "Scatter", 9, 10, scatterElements},
    {"", "ScatterElements", 11, kMaxOpset, scatterElements},
    {"", "ScatterND", 11, kMaxOpset, scatterNd},
    {"", "TensorScatter", 24, kMaxOpset, tensorScatter},
};

}  // namespace

std::span<const Operator> indexingOperators() {
  return kRows;
}

}  // namespace kiln::onnx
