// reduce_window and select_and_scatter.
#include "compiler_core/frontend/stablehlo/operations/window.h"
#include "compiler_core/frontend/stablehlo/operations/body.h"
#include "compiler_core/frontend/stablehlo/operations/elementwise.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"
#include "compiler_core/frontend/stablehlo/operations/scatter.h"
#include "compiler_core/frontend/stablehlo/operations/shape.h"

namespace kiln::stablehlo {
namespace {

constexpr std::int64_t kMaxNumber = std::int64_t{1} << 30;
constexpr std::int64_t kMaxOffsets = 1024;  // that a selection visits one after the other

// One entry for each dimension of the operand.
struct Window {
  Dims sizes, strides, baseDilations, dilations, low, high;

  // How far the first and the last element of a window are apart, and one more.
  std::int64_t span(std::size_t dim) const { return (sizes[dim] - 1) * dilations[dim] + 1; }
  // Windows along a dimension of `extent` that has been padded.
  std::int64_t count(std::size_t dim, std::int64_t extent) const {
    return extent < span(dim) ? 0 : (extent - span(dim)) / strides[dim] + 1;
  }
  // The same of an extent that may be a symbol; kUnimplemented where some sizes have no window.
  Result<Dim> count(OperationContext& op, std::size_t dim, const Dim& extent) const {
    if (extent.isStatic()) return Dim(count(dim, extent.value()));
    KILN_TRY(notBelow(op, extent, span(dim), "a window is larger than its dimension at every size"));
    return *ir::floorDiv(extent - span(dim), strides[dim]) + 1;
  }
};

Result<Window> readWindow(OperationContext& op, std::size_t rank) {
  Window window;
  KILN_ASSIGN(window.sizes, op.integers("window_dimensions", rank, 1));
  KILN_ASSIGN(window.strides, op.integers("window_strides", rank, 1));
  KILN_ASSIGN(window.baseDilations, op.integers("base_dilations", rank, 1));
  KILN_ASSIGN(window.dilations, op.integers("window_dilations", rank, 1));
  KILN_ASSIGN(const Dims padding, op.integers("padding", 2 * rank, 0));
  for (std::size_t i = 0; i < rank; ++i) {
    for (std::int64_t value :
         {window.sizes[i], window.strides[i], window.baseDilations[i], window.dilations[i]})
      if (value < 1 || value > kMaxNumber)
        return invalid("windows, strides and dilations are 1 or more, and no more than 2^30");
    window.low.push_back(padding[2 * i]);
    window.high.push_back(padding[2 * i + 1]);
  }
  return window;
}

Result<Value> padded(OperationContext& op, const Window& window, Value input, Value value) {
  Dims interior;
  for (std::int64_t dilation : window.baseDilations) interior.push_back(dilation - 1);
  return padAny(op, input, value, window.low, window.high, interior);
}

// Every window along one dimension, at every place: each power of two of a span is made of two of the one
// before.
Result<Values> slideAlong(OperationContext& op, const Window& window, std::size_t dim, Values inputs,
                          Combiner combine) {
  const auto axis = static_cast<std::int64_t>(dim);
  const std::int64_t dilation = window.dilations[dim], stride = window.strides[dim];
  KILN_ASSIGN(const Dim count, window.count(op, dim, dimsOf(inputs[0])[dim]));
  auto part = [&](const Values& from, std::int64_t offset, const Dim& size,
                  std::int64_t step) -> Result<Values> {
    Values slices;
    for (Value value : from) {
      KILN_ASSIGN(Value slice, sliceAlong(op, value, axis, offset, size, step));
      slices.push_back(slice);
    }
    return slices;
  };
  constexpr std::int64_t kFew = 8;
  if (window.sizes[dim] <= kFew || stride > 1) {
    if (window.sizes[dim] > 4096)
      return unserved("a window of more than 4096 elements with strides is not served");
    KILN_ASSIGN(Values result, part(inputs, 0, count, stride));
    for (std::int64_t i = 1; i < window.sizes[dim]; ++i) {
      KILN_ASSIGN(Values next, part(inputs, i * dilation, count, stride));
      KILN_ASSIGN(result, combine(result, next));
    }
    return result;
  }
  Values powers = inputs, result;
  std::int64_t covered = 0;
  for (std::int64_t span = 1; span <= window.sizes[dim]; span *= 2) {
    // powers[i] combines elements i, i + dilation, ... of which there are `span`.
    const Dim length = dimsOf(powers[0])[dim];
    if (window.sizes[dim] & span) {
      KILN_ASSIGN(Values next, part(powers, covered * dilation, length - covered * dilation, 1));
      if (covered > 0) {
        KILN_ASSIGN(Values before, part(result, 0, dimsOf(next[0])[dim], 1));
        KILN_ASSIGN(next, combine(before, next));
      }
      result = next;
      covered += span;
    }
    if (span * 2 > window.sizes[dim]) break;
    KILN_ASSIGN(Values first, part(powers, 0, length - span * dilation, 1));
    KILN_ASSIGN(Values second, part(powers, span * dilation, length - span * dilation, 1));
    KILN_ASSIGN(powers, combine(first, second));
  }
  return part(result, 0, count, 1);
}

// A sum or the largest of floats, over at most three dimensions, is pooling.
Result<Value> pooled(OperationContext& op, const Window& window, Combine combine, Value input) {
  const std::size_t rank = window.sizes.size();
  Dims spatial;
  for (std::size_t i = 0; i < rank; ++i) {
    if (window.baseDilations[i] != 1 || window.low[i] < 0 || window.high[i] < 0) return Value();
    if (window.sizes[i] != 1 || window.strides[i] != 1 || window.low[i] != 0 || window.high[i] != 0)
      spatial.push_back(static_cast<std::int64_t>(i));
  }
  if (spatial.empty() || spatial.size() > 3 || !isFloat(input)) return Value();
  if (combine != Combine::kAdd && combine != Combine::kMax) return Value();
  // [N, C, spatial]: the dimension before the spatial ones, if there is any, is C.
  Dims order = otherDims(static_cast<std::int64_t>(rank), spatial), kernel;
  Shape shape{1, 1};
  const std::size_t outer = order.size();
  for (std::int64_t dim : order) shape[1] = shape[1] * dimsOf(input)[dim];
  frontend::GraphBuilder::Slide slide;
  Dims behind;
  for (std::int64_t dim : spatial) {
    order.push_back(dim);
    shape.push_back(dimsOf(input)[dim]);
    kernel.push_back(window.sizes[dim]);
    slide.strides.push_back(window.strides[dim]);
    slide.dilations.push_back(window.dilations[dim]);
    slide.pads.push_back(window.low[dim]);
    behind.push_back(window.high[dim]);
  }
  llvm::append_range(slide.pads, behind);
  Shape turned;
  for (std::int64_t dim : order) turned.push_back(dimsOf(input)[dim]);
  KILN_ASSIGN(Value value, op.transpose(input, order));
  KILN_ASSIGN(value, op.reshape(value, shape));
  KILN_ASSIGN(value, op.pool(combine == Combine::kAdd ? ir::PoolKind::Sum : ir::PoolKind::Max, value, kernel,
                             slide, /*countPadding=*/false));
  for (std::size_t i = 0; i < spatial.size(); ++i) turned[outer + i] = dimsOf(value)[2 + i];
  KILN_ASSIGN(value, op.reshape(value, turned));
  Dims back(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) back[order[i]] = static_cast<std::int64_t>(i);
  return op.transpose(value, back);
}

// Along which axis, and in which direction, each window holds all that is before its element.
struct Running {
  std::size_t axis = 0;
  bool isReverse = false;
};

// nullopt: the windows are others. Sizes may be symbols.
std::optional<Running> runningOf(llvm::ArrayRef<Dim> shape, llvm::ArrayRef<Dim> sizes,
                                 llvm::ArrayRef<Dim> low, llvm::ArrayRef<Dim> high) {
  std::optional<Running> running;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim most = shape[i] - 1;
    if (sizes[i] == Dim(1) && low[i] == Dim(0) && high[i] == Dim(0)) continue;
    const bool before = low[i] == most && high[i] == Dim(0);
    const bool behind = low[i] == Dim(0) && high[i] == most;
    if (running || !(sizes[i] == shape[i]) || !(before || behind)) return std::nullopt;
    running = {i, behind};
  }
  return running;
}

// A running sum or product; null where the combination is another.
Result<Value> cumulated(OperationContext& op, const Running& running, Combine combine, Value input) {
  if (combine != Combine::kAdd && combine != Combine::kMul) return Value();
  if (elementOf(input).getIntOrFloatBitWidth() < 8) return Value();
  return op.cumulative(combine == Combine::kAdd ? ir::ReduceKind::Sum : ir::ReduceKind::Prod, input,
                       static_cast<std::int64_t>(running.axis), /*exclusive=*/false, running.isReverse);
}

bool isOnes(llvm::ArrayRef<std::int64_t> steps) {
  return llvm::all_of(steps, [](std::int64_t step) { return step == 1; });
}

// One operation for all; null where there is none.
Result<Value> windowByKind(OperationContext& op, const Window& window, Combine combine, Value input,
                           Value init) {
  if (!isNeutral(op, combine, init)) return Value();
  const bool isPlain = isOnes(window.strides) && isOnes(window.baseDilations) && isOnes(window.dilations);
  const auto running = isPlain ? runningOf(dimsOf(input), ir::toShape(window.sizes), ir::toShape(window.low),
                                           ir::toShape(window.high))
                               : std::nullopt;
  if (running) {
    KILN_ASSIGN(Value result, cumulated(op, *running, combine, input));
    if (result) return result;
  }
  return pooled(op, window, combine, input);
}

Result<Values> reduceWindow(OperationContext& op) {
  const std::size_t count = op.operandCount() / 2;
  if (op.operandCount() != 2 * count) return invalid("needs as many start values as operands");
  Values inputs(llvm::ArrayRef<Value>(op.operands()).take_front(count));
  const Values inits(llvm::ArrayRef<Value>(op.operands()).drop_front(count));
  const Shape shape = dimsOf(inputs[0]);
  for (std::size_t i = 0; i < count; ++i) {
    KILN_TRY(sameExtents(op, dimsOf(inputs[i]), shape, "operands differ in shape"));
    if (rankOf(inits[i]) != 0) return invalid("a start value is no scalar");
  }
  KILN_ASSIGN(const Window window, readWindow(op, shape.size()));
  const Combine known = count == 1 ? combineOf(op, op.region(0)) : Combine::kOther;
  const bool byBody = known == Combine::kOther || known == Combine::kSecond;
  const bool hasNone = llvm::is_contained(op.resultType().shape, 0) || isEmpty(shape);
  if (!byBody && !hasNone) {
    KILN_ASSIGN(Value result, windowByKind(op, window, known, inputs[0], inits[0]));
    if (result) return Values{result};
  }
  // Sums and products of small floats are kept in f32 until the end.
  const mlir::Type element = elementOf(inputs[0]);
  const bool isWidened = (known == Combine::kAdd || known == Combine::kMul) && isFloat(inputs[0]) &&
                         element.getIntOrFloatBitWidth() < 32;
  Values starts(inits);
  for (std::size_t i = 0; i < count; ++i) {
    if (isWidened) {
      KILN_ASSIGN(inputs[i], op.cast(inputs[i], op.f32()));
      KILN_ASSIGN(starts[i], op.cast(starts[i], op.f32()));
    }
    KILN_ASSIGN(inputs[i], padded(op, window, inputs[i], starts[i]));
  }
  auto both = [&](const Values& a, const Values& b) -> Result<Values> {
    if (!byBody) {
      KILN_ASSIGN(Value made, combine(op, binaryKind(known), a[0], b[0]));
      return Values{made};
    }
    Values arguments(a);
    llvm::append_range(arguments, b);
    KILN_ASSIGN(Values made, op.runPointwise(op.region(0), arguments, dimsOf(b[0])));
    if (made.size() != a.size()) return invalid("the body returns another number of values");
    return made;
  };
  // The last dimension first, so that the order of a window's elements is kept.
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    if (window.sizes[dim] == 1 && window.strides[dim] == 1) continue;
    KILN_ASSIGN(inputs, slideAlong(op, window, dim, inputs, both));
  }
  for (std::size_t i = 0; i < count; ++i) {
    KILN_ASSIGN(starts[i], op.broadcast(starts[i], dimsOf(inputs[i])));
  }
  Values results = inputs;
  if (byBody || !isNeutral(op, known, inits[0])) {
    KILN_ASSIGN(results, both(starts, inputs));
  }
  for (Value& result : results) {
    if (!isWidened) continue;
    KILN_ASSIGN(result, op.cast(result, element));
  }
  return results;
}

// What the function that a custom call names does with two scalars.
Combine calledCombine(OperationContext& op) {
  const Attribute* called = op.attribute("called_computations");
  const auto* list = called ? std::get_if<std::vector<Attribute>>(&called->value) : nullptr;
  const auto* name = list && list->size() == 1 ? std::get_if<SymbolName>(&list->front().value) : nullptr;
  const Region* body = name ? op.functionBody(name->name) : nullptr;
  return body ? combineOf(op, *body) : Combine::kOther;
}

// The element that each window selects, as its position in the operand.
class Selection {
 public:
  Selection(OperationContext& op, const Window& window) : op_(op), window_(window) {}

  // i64 in the shape of the source: row-major positions in the operand, -1 where a window holds none of it.
  Result<Value> positions() {
    const Value operand = op_.operand(0);
    const Dims shape(shapeOf(operand)), source(shapeOf(op_.operand(1)));
    std::int64_t offsets = 1;
    for (std::int64_t size : window_.sizes) {
      offsets *= size;
      if (offsets > kMaxOffsets)
        return unserved("a window of more than " + std::to_string(kMaxOffsets) +
                        " elements is not served here");
    }
    KILN_ASSIGN(values_, padded(op_, window_, operand, op_.scalar(elementOf(operand), 0)));
    KILN_ASSIGN(places_, op_.iota(op_.i64(), Dims{elementsOf(shape)}, 0));
    KILN_ASSIGN(places_, op_.reshape(places_, shape));
    KILN_ASSIGN(places_, padded(op_, window_, places_, op_.longScalar(-1)));
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (window_.count(i, shapeOf(values_)[i]) != source[i])
        return invalid("the source does not have one element for each window");
    Dims offset(shape.size(), 0);
    for (std::int64_t i = 0; i < offsets; ++i) {
      KILN_TRY(visit(offset, source));
      for (std::size_t dim = shape.size(); dim-- > 0;) {
        if (++offset[dim] < window_.sizes[dim]) break;
        offset[dim] = 0;
      }
    }
    return place_;
  }

 private:
  // One element of every window: the selected one stays where the body says so.
  Status visit(const Dims& offset, const Dims& source) {
    KILN_ASSIGN(Value value, op_.slice(values_, offset, window_.strides, source));
    KILN_ASSIGN(Value place, op_.slice(places_, offset, window_.strides, source));
    if (!value_) {
      value_ = value;
      place_ = place;
      return {};
    }
    KILN_ASSIGN(Values stays, op_.runPointwise(op_.region(0), {value_, value}, ir::toShape(source)));
    const Term selected = op_.term(place_), now = op_.term(place);
    if (stays.size() != 1 || !elementOf(stays[0]).isInteger(1)) return invalid("the selection is no i1");
    const Term isKept = (selected >= 0.0) & op_.term(stays[0]);
    KILN_ASSIGN(Value takes, ((now >= 0.0) & !isKept).value());
    KILN_ASSIGN(value_, op_.select(takes, value, value_));
    KILN_ASSIGN(place_, op_.select(takes, place, place_));
    return {};
  }

  OperationContext& op_;
  const Window& window_;
  Value values_, places_;  // of the padded operand
  Value value_, place_;    // what is selected by now
};

Result<Values> selectAndScatter(OperationContext& op) {
  const Value operand = op.operand(0), source = op.operand(1), init = op.operand(2);
  const Dims shape(shapeOf(operand));
  if (rankOf(source) != rankOf(operand) || rankOf(init) != 0)
    return invalid("the source has another rank than the operand, or the start value is no scalar");
  KILN_ASSIGN(const Window window, readWindow(op, shape.size()));
  KILN_ASSIGN(Value result, op.broadcast(init, Dims{elementsOf(shape)}));
  if (elementsOf(shapeOf(source)) > 0) {
    KILN_ASSIGN(Value positions, Selection(op, window).positions());
    KILN_ASSIGN(positions, op.reshape(positions, Dims{elementsOf(shapeOf(source))}));
    KILN_ASSIGN(Value updates, op.reshape(source, Dims{elementsOf(shapeOf(source))}));
    KILN_ASSIGN(Values made, updateRows(op, op.region(1), {result}, positions, {updates}, false));
    result = made[0];
  }
  KILN_ASSIGN(result, op.reshape(result, shape));
  return Values{result};
}

}  // namespace

Result<Values> dynamicReduceWindow(OperationContext& op) {
  constexpr std::size_t kOperands = 7;
  if (op.operandCount() != kOperands || op.resultCount() != 1)
    return unserved("windows of a size that is an operand are served for one tensor only");
  const Value input = op.operand(0), init = op.operand(1);
  const Shape shape = dimsOf(input);
  KILN_ASSIGN(const Shape sizes, sizesIn(op, 2, "the sizes of the windows", shape.size()));
  Shape steps;
  for (std::size_t i : {3, 4, 5}) {
    KILN_ASSIGN(const Shape some, sizesIn(op, i, "the strides and dilations", shape.size()));
    llvm::append_range(steps, some);
  }
  KILN_ASSIGN(const Shape padding, sizesIn(op, 6, "the padding", 2 * shape.size()));
  Shape low, high;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    low.push_back(padding[2 * i]);
    high.push_back(padding[2 * i + 1]);
  }
  const Combine combine = calledCombine(op);
  const bool isPlain = llvm::all_of(steps, [](const Dim& step) { return step == Dim(1); });
  const auto running = isPlain ? runningOf(shape, sizes, low, high) : std::nullopt;
  if (running && isNeutral(op, combine, init)) {
    KILN_ASSIGN(Value result, cumulated(op, *running, combine, input));
    if (result) return Values{result};
  }
  return unserved(
      "windows of a size that is an operand are served for running sums and products over a whole dimension");
}

std::span<const Row> windowRows() {
  static constexpr Row kRows[] = {{"reduce_window", reduceWindow, 2, 1, false, true},
                                  {"select_and_scatter", selectAndScatter, 3, 2}};
  return kRows;
}

}  // namespace kiln::stablehlo
