#include "compiler_core/frontend/onnx/symbolic_values.h"

#include <limits>

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"
#include "llvm/ADT/TypeSwitch.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Shape;
using Elements = std::optional<Shape>;
using Element = std::optional<Dim>;

constexpr std::int64_t kMostElements = 1024;

class Follower {
 public:
  explicit Follower(llvm::ArrayRef<ir::Range> symbols) : symbols_(symbols) {}

  Elements of(mlir::Value value) {
    if (auto found = known_.find(value); found != known_.end()) return found->second;
    Elements elements = find(value);
    known_[value] = elements;
    return elements;
  }

 private:
  std::optional<ir::Range> range(const Dim& dim) const { return ir::rangeOf(dim, symbols_); }

  Elements find(mlir::Value value) {
    auto type = ir::tensorType(value);
    mlir::Operation* op = value.getDefiningOp();
    if (!op || !type.hasStaticShape() || !type.getElementType().isIntOrIndex()) return std::nullopt;
    const auto count = ir::checkedElements(type.getShape());
    if (!count || *count > kMostElements) return std::nullopt;
    return llvm::TypeSwitch<mlir::Operation*, Elements>(op)
        .Case([&](ir::ConstantOp constant) { return constantElements(constant); })
        .Case([&](ir::ShapeValueOp extents) -> Elements {
          Shape elements;
          for (mlir::AffineExpr expression : extents.getValues().getResults())
            elements.push_back(Dim(expression));
          return elements;
        })
        .Case([&](ir::ReshapeOp reshape) { return of(reshape.getInput()); })
        .Case([&](ir::CastOp cast) { return castElements(cast); })
        .Case([&](ir::BinaryOp binary) {
          return zipped(binary.getLhs(), binary.getRhs(),
                        [&](const Dim& a, const Dim& b) { return combine(binary.getKind(), a, b); });
        })
        .Case([&](ir::CompareOp compare) {
          return zipped(compare.getLhs(), compare.getRhs(),
                        [&](const Dim& a, const Dim& b) { return decide(compare.getKind(), a, b); });
        })
        .Case([&](ir::SelectOp select) { return chosen(select); })
        .Case([&](ir::ConcatOp concat) { return joined(concat, type); })
        .Case([&](ir::SliceOp slice) -> Elements {
          if (slice.getSymbolicOffsets()) return std::nullopt;
          return picked(slice.getInput(), type, [&](llvm::ArrayRef<std::int64_t> at) {
            llvm::SmallVector<std::int64_t> from(at);
            for (auto [i, index] : llvm::enumerate(from))
              index = slice.getOffsets()[i] + index * slice.getStrides()[i];
            return from;
          });
        })
        .Case([&](ir::BroadcastOp broadcast) {
          auto shape = ir::tensorType(broadcast.getInput()).getShape();
          return picked(broadcast.getInput(), type, [&](llvm::ArrayRef<std::int64_t> at) {
            llvm::SmallVector<std::int64_t> from(at.take_back(shape.size()));
            for (auto [i, index] : llvm::enumerate(from))
              if (shape[i] == 1) index = 0;
            return from;
          });
        })
        .Case([&](ir::TransposeOp transpose) {
          return picked(transpose.getInput(), type, [&](llvm::ArrayRef<std::int64_t> at) {
            llvm::SmallVector<std::int64_t> from(at.size());
            for (auto [i, dim] : llvm::enumerate(transpose.getPermutation())) from[dim] = at[i];
            return from;
          });
        })
        .Case([&](ir::GatherOp gather) { return gathered(gather, type); })
        .Case([&](ir::ReduceOp reduce) { return reduced(reduce); })
        .Default([](mlir::Operation*) { return std::nullopt; });
  }

  static Elements constantElements(ir::ConstantOp constant) {
    auto values = llvm::dyn_cast<mlir::DenseIntElementsAttr>(constant.getValue());
    if (!values) return std::nullopt;
    const bool isUnsigned =
        values.getElementType().isUnsignedInteger() || values.getElementType().isInteger(1);
    Shape elements;
    for (const llvm::APInt& value : values.getValues<llvm::APInt>())
      elements.push_back(isUnsigned ? static_cast<std::int64_t>(value.getZExtValue()) : value.getSExtValue());
    return elements;
  }

  // Values that fit the narrower type keep themselves.
  Elements castElements(ir::CastOp cast) {
    mlir::Type to = ir::tensorType(cast.getType()).getElementType(),
               from = ir::tensorType(cast.getInput()).getElementType();
    if (!from.isIntOrIndex() || to.isUnsignedInteger()) return std::nullopt;
    Elements elements = of(cast.getInput());
    if (!elements) return std::nullopt;
    for (Dim& element : *elements) {
      if (to.isInteger(1)) {
        const Element zero = decide(ir::CompareKind::Eq, element, 0);
        if (!zero) return std::nullopt;
        element = 1 - zero->value();
        continue;
      }
      const auto limits = range(element);
      const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - to.getIntOrFloatBitWidth());
      if (!limits || limits->min < -most - 1 || limits->max > most) return std::nullopt;
    }
    return elements;
  }

  Elements zipped(mlir::Value lhs, mlir::Value rhs,
                  llvm::function_ref<Element(const Dim&, const Dim&)> combine) {
    const Elements a = of(lhs), b = of(rhs);
    if (!a || !b) return std::nullopt;
    Shape result;
    for (auto [x, y] : llvm::zip_equal(*a, *b)) {
      const Element element = combine(x, y);
      if (!element) return std::nullopt;
      result.push_back(*element);
    }
    return result;
  }

  Element combine(ir::BinaryKind kind, const Dim& a, const Dim& b) const {
    switch (kind) {
      case ir::BinaryKind::Add:
        return a + b;
      case ir::BinaryKind::Sub:
        return a - b;
      case ir::BinaryKind::Mul:
        return a * b;
      case ir::BinaryKind::Div: {
        if (auto exact = ir::exactDiv(a, b)) return exact;
        // Division truncates, which is rounding down where nothing is negative.
        const auto limits = range(a);
        if (!b.isStatic() || !limits || limits->min < 0) return std::nullopt;
        return ir::floorDiv(a, b.value());
      }
      case ir::BinaryKind::Mod:
        return b.isStatic() ? ir::modulo(a, b.value()) : std::nullopt;
      case ir::BinaryKind::Max:
      case ir::BinaryKind::Min: {
        const auto difference = range(a - b);
        const bool least = kind == ir::BinaryKind::Min;
        if (difference && difference->min >= 0) return least ? b : a;
        if (difference && difference->max <= 0) return least ? a : b;
        return std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  // 1 or 0 where the ranges tell.
  Element decide(ir::CompareKind kind, const Dim& a, const Dim& b) const {
    if (kind == ir::CompareKind::Gt) return decide(ir::CompareKind::Lt, b, a);
    if (kind == ir::CompareKind::Ge) return decide(ir::CompareKind::Le, b, a);
    const auto difference = range(a - b);
    if (!difference) return std::nullopt;
    const auto [low, high] = *difference;
    switch (kind) {
      case ir::CompareKind::Eq:
        return low == 0 && high == 0 ? Element(1) : low > 0 || high < 0 ? Element(0) : std::nullopt;
      case ir::CompareKind::Lt:
        return high < 0 ? Element(1) : low >= 0 ? Element(0) : std::nullopt;
      default:
        return high <= 0 ? Element(1) : low > 0 ? Element(0) : std::nullopt;
    }
  }

  Elements chosen(ir::SelectOp select) {
    const Elements condition = of(select.getCondition());
    const Elements a = of(select.getOnTrue()), b = of(select.getOnFalse());
    if (!condition) return std::nullopt;
    Shape result;
    for (auto [i, bit] : llvm::enumerate(*condition)) {
      const Elements& from = bit == Dim(0) ? b : a;
      if (!from || !bit.isStatic()) return std::nullopt;
      result.push_back((*from)[i]);
    }
    return result;
  }

  Elements joined(ir::ConcatOp concat, mlir::RankedTensorType type) {
    if (type.getRank() != 1) return std::nullopt;
    Shape result;
    for (mlir::Value input : concat.getInputs()) {
      const Elements part = of(input);
      if (!part) return std::nullopt;
      llvm::append_range(result, *part);
    }
    return result;
  }

  // Element `at` of the result is element from(at) of the input.
  Elements picked(mlir::Value input, mlir::RankedTensorType type,
                  llvm::function_ref<llvm::SmallVector<std::int64_t>(llvm::ArrayRef<std::int64_t>)> from) {
    const Elements given = of(input);
    if (!given) return std::nullopt;
    auto shape = ir::tensorType(input).getShape();
    llvm::SmallVector<std::int64_t> at(type.getRank(), 0);
    Shape result;
    for (std::int64_t i = 0; i < type.getNumElements(); ++i) {
      std::int64_t rest = i, flat = 0;
      for (std::size_t dim = at.size(); dim-- > 0; rest /= type.getDimSize(dim))
        at[dim] = rest % type.getDimSize(dim);
      for (auto [dim, index] : llvm::enumerate(from(at))) flat = flat * shape[dim] + index;
      result.push_back((*given)[static_cast<std::size_t>(flat)]);
    }
    return result;
  }

  Elements gathered(ir::GatherOp gather, mlir::RankedTensorType type) {
    const Elements indices = of(gather.getIndices());
    if (!indices || !ir::isStatic(*indices)) return std::nullopt;
    const auto axis = static_cast<std::size_t>(gather.getAxis());
    auto given = ir::tensorType(gather.getInput()), picks = ir::tensorType(gather.getIndices());
    if (!given.hasStaticShape()) return std::nullopt;
    const std::int64_t extent = given.getDimSize(axis);
    const auto width = static_cast<std::size_t>(picks.getRank());
    return picked(gather.getInput(), type, [&](llvm::ArrayRef<std::int64_t> at) {
      std::int64_t flat = 0;
      for (std::size_t i = 0; i < width; ++i) flat = flat * picks.getDimSize(i) + at[axis + i];
      std::int64_t index = (*indices)[static_cast<std::size_t>(flat)].value();
      index = std::clamp<std::int64_t>(index < 0 ? index + extent : index, 0, extent - 1);
      llvm::SmallVector<std::int64_t> from(at.take_front(axis));
      from.push_back(index);
      llvm::append_range(from, at.drop_front(axis + width));
      return from;
    });
  }

  // Of a list only.
  Elements reduced(ir::ReduceOp reduce) {
    const Elements given = of(reduce.getInput());
    if (!given || ir::tensorType(reduce.getInput()).getRank() != 1 || given->empty()) return std::nullopt;
    constexpr ir::BinaryKind kKinds[] = {ir::BinaryKind::Add, ir::BinaryKind::Max, ir::BinaryKind::Min,
                                         ir::BinaryKind::Mul};
    Dim result = given->front();
    for (const Dim& next : llvm::drop_begin(*given)) {
      const Element both = combine(kKinds[static_cast<unsigned>(reduce.getKind())], result, next);
      if (!both) return std::nullopt;
      result = *both;
    }
    return Shape{result};
  }

  llvm::ArrayRef<ir::Range> symbols_;
  llvm::DenseMap<mlir::Value, Elements> known_;  // looked up only, never iterated
};

llvm::SmallVector<ir::Range> limitsAt(mlir::Operation* place) {
  llvm::SmallVector<ir::Range> limits;
  auto module = llvm::dyn_cast_or_null<mlir::ModuleOp>(place);
  if (place && !module) module = place->getParentOfType<mlir::ModuleOp>();
  if (module)
    for (const ir::Symbol& symbol : ir::symbolsOf(module)) limits.push_back(symbol.range);
  return limits;
}

}  // namespace

std::optional<ir::Range> rangeOf(const ir::Dim& dim, mlir::Operation* place) {
  if (dim.isStatic()) return ir::Range{dim.value(), dim.value()};
  return ir::rangeOf(dim, limitsAt(place));
}

std::optional<ir::Shape> symbolicElements(mlir::Value value) {
  if (!value.getDefiningOp()) return std::nullopt;
  const auto limits = limitsAt(value.getDefiningOp());
  return Follower(limits).of(value);
}

}  // namespace kiln::onnx
