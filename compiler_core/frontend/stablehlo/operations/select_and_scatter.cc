// select_and_scatter: the element that each window selects gets what comes back for it.
#include "compiler_core/frontend/stablehlo/operations/operations.h"
#include "compiler_core/frontend/stablehlo/operations/scatter.h"
#include "compiler_core/frontend/stablehlo/operations/window.h"

namespace kiln::stablehlo {
namespace {

constexpr std::int64_t kMaxOffsets = 1024;  // that a selection visits one after the other

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

std::span<const Row> selectionRows() {
  static constexpr Row kRows[] = {{"select_and_scatter", selectAndScatter, 3, 2}};
  return kRows;
}

}  // namespace kiln::stablehlo
