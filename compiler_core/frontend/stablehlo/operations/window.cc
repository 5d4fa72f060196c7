// reduce_window.
#include "compiler_core/frontend/stablehlo/operations/window.h"

#include "compiler_core/frontend/stablehlo/operations/elementwise.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

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

}  // namespace

Result<Window> readWindow(OperationContext& op, std::size_t rank) {
  constexpr std::int64_t kMaxNumber = std::int64_t{1} << 30;
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

std::span<const Row> windowRows() {
  static constexpr Row kRows[] = {{"reduce_window", reduceWindow, 2, 1, false, true}};
  return kRows;
}

}  // namespace kiln::stablehlo
