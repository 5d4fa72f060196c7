#include "compiler_core/frontend/graph/symbolic_values.h"

#include <cmath>
#include <limits>

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"
#include "llvm/ADT/TypeSwitch.h"

namespace kiln::frontend {
namespace {

using ir::Dim;
using ir::Shape;

// An element as a fraction of whole numbers, since exporters calculate extents in floats too. That of an
// integer is whole. A float is only followed as long as it is exact, or is rounded to a whole number next.
struct Number {
  Dim over;
  std::int64_t under = 1;  // positive

  bool isWhole() const { return under == 1; }
  bool isExact() const { return (under & (under - 1)) == 0; }  // in binary
};
using Numbers = llvm::SmallVector<Number>;
using Elements = std::optional<Numbers>;
using Element = std::optional<Number>;

// Bounds a number that takes part in float arithmetic.
constexpr std::int64_t kMaxUnder = std::int64_t{1} << 20;

// The bits of a float's mantissa; whole numbers below 2^bits are exact. 0 for types that are not followed.
unsigned mantissaBits(mlir::Type element) {
  auto type = llvm::dyn_cast<mlir::FloatType>(element);
  return type && type.getIntOrFloatBitWidth() >= 16 ? type.getFPMantissaWidth() : 0;
}

Element wholeOrNot(const Dim& over, std::int64_t under) {
  if (under < 1 || under > kMaxUnder) return std::nullopt;
  if (auto exact = ir::exactDiv(over, under)) return Number{*exact};
  return Number{over, under};
}

Element fractionOf(double value) {
  for (std::int64_t under = 1; under <= kMaxUnder; under *= 2) {
    const double over = value * static_cast<double>(under);
    if (!(std::abs(over) < 0x1p40)) return std::nullopt;
    if (over == std::floor(over)) return Number{static_cast<std::int64_t>(over), under};
  }
  return std::nullopt;
}

// Symbols from here on are of no module.
constexpr unsigned kFirstUnknown = 1u << 24;

class Follower {
 public:
  // With `stands`, symbols of no module stand for elements that are not known, each for itself.
  Follower(mlir::Operation* place, std::size_t maxValues, bool stands = false)
      : place_(place), mostValues_(maxValues), stands_(stands) {}

  Elements of(mlir::Value value) {
    if (auto found = known_.find(value); found != known_.end()) return found->second;
    if (known_.size() >= mostValues_) return std::nullopt;
    Elements elements = find(value);
    if (!elements && stands_) elements = unknown(value);
    known_[value] = elements;
    return elements;
  }

 private:
  std::optional<ir::Range> range(const Dim& dim) const { return frontend::rangeOf(dim, place_); }

  Elements unknown(mlir::Value value) {
    constexpr std::int64_t kMost = 64;
    auto type = ir::tensorType(value);
    if (!type.hasStaticShape() || !type.getElementType().isIntOrIndex() || type.getNumElements() > kMost)
      return std::nullopt;
    Numbers elements;
    for (std::int64_t i = 0; i < type.getNumElements(); ++i)
      elements.push_back({Dim::symbol(value.getContext(), kFirstUnknown + unknowns_++)});
    return elements;
  }

  Elements find(mlir::Value value) {
    auto type = ir::tensorType(value);
    mlir::Operation* op = value.getDefiningOp();
    if (!op || !type.hasStaticShape()) return std::nullopt;
    const unsigned bits = mantissaBits(type.getElementType());
    if (!type.getElementType().isIntOrIndex() && bits == 0) return std::nullopt;
    const auto count = ir::checkedElements(type.getShape());
    if (!count || *count > kMostFollowed) return std::nullopt;
    return llvm::TypeSwitch<mlir::Operation*, Elements>(op)
        .Case([&](ir::ConstantOp constant) { return constantElements(constant); })
        .Case([&](ir::ShapeValueOp extents) -> Elements {
          Numbers elements;
          for (mlir::AffineExpr expression : extents.getValues().getResults())
            elements.push_back({Dim(expression)});
          return elements;
        })
        .Case([&](ir::ReshapeOp reshape) { return of(reshape.getInput()); })
        .Case([&](ir::CastOp cast) { return castElements(cast); })
        .Case([&](ir::UnaryOp unary) { return unaryElements(unary); })
        .Case([&](ir::BinaryOp binary) -> Elements {
          const bool isOr = binary.getKind() == ir::BinaryKind::Or;
          if (type.getElementType().isInteger(1) && (isOr || binary.getKind() == ir::BinaryKind::And))
            return logical(binary, isOr ? 1 : 0);
          return zipped(binary.getLhs(), binary.getRhs(), [&](const Number& a, const Number& b) {
            return bits ? calculate(binary.getKind(), a, b, bits) : combine(binary.getKind(), a, b);
          });
        })
        .Case([&](ir::CompareOp compare) {
          return zipped(compare.getLhs(), compare.getRhs(),
                        [&](const Number& a, const Number& b) { return decide(compare.getKind(), a, b); });
        })
        .Case([&](ir::IotaOp iota) -> Elements {
          if (bits) return std::nullopt;
          Numbers elements;
          std::int64_t inner = 1;
          const auto axis = static_cast<std::size_t>(iota.getAxis());
          for (const std::int64_t dim : type.getShape().drop_front(axis + 1)) inner *= dim;
          for (std::int64_t i = 0; i < *count; ++i)
            elements.push_back({i / inner % type.getDimSize(static_cast<unsigned>(axis))});
          return elements;
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
    Numbers elements;
    if (auto reals = llvm::dyn_cast<mlir::DenseFPElementsAttr>(constant.getValue())) {
      for (llvm::APFloat value : reals.getValues<llvm::APFloat>()) {
        bool lost = false;
        value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
        const Element element = fractionOf(value.convertToDouble());
        if (!element) return std::nullopt;
        elements.push_back(*element);
      }
      return elements;
    }
    auto values = llvm::dyn_cast<mlir::DenseIntElementsAttr>(constant.getValue());
    if (!values) return std::nullopt;
    const bool isUnsigned =
        values.getElementType().isUnsignedInteger() || values.getElementType().isInteger(1);
    for (const llvm::APInt& value : values.getValues<llvm::APInt>())
      elements.push_back(
          {isUnsigned ? static_cast<std::int64_t>(value.getZExtValue()) : value.getSExtValue()});
    return elements;
  }

  // Values that fit the narrower type keep themselves.
  Elements castElements(ir::CastOp cast) {
    mlir::Type to = ir::tensorType(cast.getType()).getElementType();
    const unsigned bits = mantissaBits(to);
    if (to.isUnsignedInteger() || (!to.isIntOrIndex() && bits == 0)) return std::nullopt;
    Elements elements = of(cast.getInput());
    if (!elements) return std::nullopt;
    for (Number& element : *elements) {
      if (to.isInteger(1)) {
        const Element zero = decide(ir::CompareKind::Eq, element, {0});
        if (!zero) return std::nullopt;
        element = {1 - zero->over.value()};
        continue;
      }
      if (bits) {
        if (!fits(element, bits)) return std::nullopt;
        continue;
      }
      auto limits = range(element.over);
      // Rounds towards zero, which is down where nothing is negative.
      if (!element.isWhole() && (!limits || limits->min < 0)) return std::nullopt;
      element = {*ir::floorDiv(element.over, element.under)};
      limits = range(element.over);
      const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - to.getIntOrFloatBitWidth());
      if (!limits || limits->min < -most - 1 || limits->max > most) return std::nullopt;
    }
    return elements;
  }

  // Whether a float of so many bits holds the number.
  bool fits(const Number& number, unsigned bits) const {
    const auto limits = range(number.over);
    const std::int64_t most = std::int64_t{1} << std::min(bits, 40u);
    return number.isExact() && limits && limits->min > -most && limits->max < most;
  }

  Elements unaryElements(ir::UnaryOp unary) {
    Elements elements = of(unary.getInput());
    const auto type = ir::tensorType(unary.getType()).getElementType();
    if (!elements) return std::nullopt;
    for (Number& element : *elements) switch (unary.getKind()) {
        case ir::UnaryKind::Neg:
          element.over = Dim(0) - element.over;
          break;
        // What division left inexact is still on the right side of each whole number: as far as whole numbers
        // are exact, quotients are further apart from them than they are rounded.
        case ir::UnaryKind::Floor:
          element = {*ir::floorDiv(element.over, element.under)};
          break;
        case ir::UnaryKind::Ceil:
          element = {*ir::ceilDiv(element.over, element.under)};
          break;
        case ir::UnaryKind::Sign: {
          const auto limits = element.isWhole() ? range(element.over) : std::nullopt;
          if (!limits || (limits->min <= 0 && limits->max >= 0 && limits->min != limits->max))
            return std::nullopt;
          element = {limits->min > 0 ? 1 : limits->max < 0 ? -1 : 0};
          break;
        }
        case ir::UnaryKind::Not:
          if (!type.isInteger(1) || !element.over.isStatic()) return std::nullopt;
          element = {1 - element.over.value()};
          break;
        default:
          return std::nullopt;
      }
    return elements;
  }

  Elements zipped(mlir::Value lhs, mlir::Value rhs,
                  llvm::function_ref<Element(const Number&, const Number&)> combine) {
    const Elements a = of(lhs), b = of(rhs);
    if (!a || !b) return std::nullopt;
    Numbers result;
    for (auto [x, y] : llvm::zip_equal(*a, *b)) {
      const Element element = combine(x, y);
      if (!element) return std::nullopt;
      result.push_back(*element);
    }
    return result;
  }

  // `and` and `or` of i1: `deciding` on one side is the result, whatever the other side is.
  Elements logical(ir::BinaryOp binary, std::int64_t deciding) {
    const Elements a = of(binary.getLhs()), b = of(binary.getRhs());
    if (!a && !b) return std::nullopt;
    Numbers result;
    for (std::size_t i = 0; i < (a ? *a : *b).size(); ++i) {
      const bool isDecided = (a && (*a)[i].over == Dim(deciding)) || (b && (*b)[i].over == Dim(deciding));
      if (!isDecided && !(a && b)) return std::nullopt;
      result.push_back({isDecided ? deciding : 1 - deciding});
    }
    return result;
  }

  // Calculates with floats of so many bits.
  Element calculate(ir::BinaryKind kind, const Number& a, const Number& b, unsigned bits) const {
    if (!a.isExact() || !b.isExact()) return std::nullopt;
    Element result;
    switch (kind) {
      case ir::BinaryKind::Add:
      case ir::BinaryKind::Sub: {
        const std::int64_t under = std::max(a.under, b.under);  // powers of two
        const Dim x = a.over * Dim(under / a.under), y = b.over * Dim(under / b.under);
        result = wholeOrNot(kind == ir::BinaryKind::Add ? x + y : x - y, under);
        break;
      }
      case ir::BinaryKind::Mul:
        result = wholeOrNot(a.over * b.over, a.under * b.under);
        break;
      case ir::BinaryKind::Div: {
        const std::int64_t by = b.over.isStatic() ? b.over.value() : 0;
        if (by < 1 || by > kMaxUnder) return std::nullopt;
        result = wholeOrNot(a.over * Dim(b.under), a.under * by);
        // Not exact, but as unaryElements wants it.
        if (result && !result->isExact()) {
          const auto limits = range(result->over);
          const std::int64_t most = std::int64_t{1} << std::min(bits, 40u);
          if (!limits || limits->min < 0 || limits->max >= most || result->under >= most) return std::nullopt;
          return result;
        }
        break;
      }
      default:
        return std::nullopt;
    }
    return result && fits(*result, bits) ? result : std::nullopt;
  }

  // Combines integers.
  Element combine(ir::BinaryKind kind, const Number& x, const Number& y) const {
    const Dim &a = x.over, &b = y.over;
    switch (kind) {
      case ir::BinaryKind::Add:
        return Number{a + b};
      case ir::BinaryKind::Sub:
        return Number{a - b};
      case ir::BinaryKind::Mul:
        return Number{a * b};
      case ir::BinaryKind::Div: {
        if (auto exact = ir::exactDiv(a, b)) return Number{*exact};
        // Division truncates, which is rounding down where nothing is negative.
        const auto limits = range(a);
        if (!b.isStatic() || !limits || limits->min < 0) return std::nullopt;
        return numberOf(ir::floorDiv(a, b.value()));
      }
      case ir::BinaryKind::Mod:
        return b.isStatic() ? numberOf(ir::modulo(a, b.value())) : std::nullopt;
      case ir::BinaryKind::Rem: {
        // Has the sign of `a`: the same as Mod where nothing is negative, or there is no remainder.
        if (b.isStatic() && ir::exactDiv(a, b)) return Number{0};
        const auto limits = range(a);
        if (!b.isStatic() || !limits || limits->min < 0) return std::nullopt;
        return numberOf(ir::modulo(a, b.value()));
      }
      case ir::BinaryKind::Max:
      case ir::BinaryKind::Min: {
        const auto difference = range(a - b);
        const bool least = kind == ir::BinaryKind::Min;
        if (difference && difference->min >= 0) return least ? y : x;
        if (difference && difference->max <= 0) return least ? x : y;
        return std::nullopt;
      }
      case ir::BinaryKind::And:
      case ir::BinaryKind::Or:
      case ir::BinaryKind::Xor: {
        if (!a.isStatic() || !b.isStatic()) return std::nullopt;
        const std::int64_t p = a.value(), q = b.value();
        return Number{kind == ir::BinaryKind::And ? p & q : kind == ir::BinaryKind::Or ? p | q : p ^ q};
      }
      default:
        return std::nullopt;
    }
  }
  static Element numberOf(const std::optional<Dim>& dim) {
    return dim ? Element(Number{*dim}) : std::nullopt;
  }

  // 1 or 0 where the ranges tell.
  Element decide(ir::CompareKind kind, const Number& a, const Number& b) const {
    if (kind == ir::CompareKind::Gt) return decide(ir::CompareKind::Lt, b, a);
    if (kind == ir::CompareKind::Ge) return decide(ir::CompareKind::Le, b, a);
    const auto difference = a.isWhole() && b.isWhole() ? range(a.over - b.over) : std::nullopt;
    if (!difference) return std::nullopt;
    const auto [low, high] = *difference;
    const Element yes = Number{1}, no = Number{0};
    switch (kind) {
      case ir::CompareKind::Eq:
        return low == 0 && high == 0 ? yes : low > 0 || high < 0 ? no : std::nullopt;
      case ir::CompareKind::Lt:
        return high < 0 ? yes : low >= 0 ? no : std::nullopt;
      default:
        return high <= 0 ? yes : low > 0 ? no : std::nullopt;
    }
  }

  Elements chosen(ir::SelectOp select) {
    const Elements condition = of(select.getCondition());
    const Elements a = of(select.getOnTrue()), b = of(select.getOnFalse());
    if (!condition) return std::nullopt;
    Numbers result;
    for (auto [i, bit] : llvm::enumerate(*condition)) {
      const Elements& from = bit.over == Dim(0) ? b : a;
      if (!from || !bit.over.isStatic()) return std::nullopt;
      result.push_back((*from)[i]);
    }
    return result;
  }

  Elements joined(ir::ConcatOp concat, mlir::RankedTensorType type) {
    // Along the first dimension parts follow each other whatever the rank is.
    if (type.getRank() != 1 && concat.getAxis() != 0) return std::nullopt;
    Numbers result;
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
    Numbers result;
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
    if (!indices || !llvm::all_of(*indices, [](const Number& index) { return index.over.isStatic(); }))
      return std::nullopt;
    const auto axis = static_cast<std::size_t>(gather.getAxis());
    auto given = ir::tensorType(gather.getInput()), picks = ir::tensorType(gather.getIndices());
    if (!given.hasStaticShape()) return std::nullopt;
    const std::int64_t extent = given.getDimSize(axis);
    const auto width = static_cast<std::size_t>(picks.getRank());
    return picked(gather.getInput(), type, [&](llvm::ArrayRef<std::int64_t> at) {
      std::int64_t flat = 0;
      for (std::size_t i = 0; i < width; ++i) flat = flat * picks.getDimSize(i) + at[axis + i];
      std::int64_t index = (*indices)[static_cast<std::size_t>(flat)].over.value();
      index = std::clamp<std::int64_t>(index < 0 ? index + extent : index, 0, extent - 1);
      llvm::SmallVector<std::int64_t> from(at.take_front(axis));
      from.push_back(index);
      llvm::append_range(from, at.drop_front(axis + width));
      return from;
    });
  }

  // Follows reductions of a list only.
  Elements reduced(ir::ReduceOp reduce) {
    const Elements given = of(reduce.getInput());
    if (!given || ir::tensorType(reduce.getInput()).getRank() != 1 || given->empty()) return std::nullopt;
    constexpr ir::BinaryKind kKinds[] = {ir::BinaryKind::Add, ir::BinaryKind::Max, ir::BinaryKind::Min,
                                         ir::BinaryKind::Mul};
    if (!ir::tensorType(reduce.getType()).getElementType().isIntOrIndex()) return std::nullopt;
    Number result = given->front();
    for (const Number& next : llvm::drop_begin(*given)) {
      const Element both = combine(kKinds[static_cast<unsigned>(reduce.getKind())], result, next);
      if (!both) return std::nullopt;
      result = *both;
    }
    return Numbers{result};
  }

  mlir::Operation* place_;  // in the module whose symbols bound the extents
  std::size_t mostValues_;
  bool stands_;
  unsigned unknowns_ = 0;
  llvm::DenseMap<mlir::Value, Elements> known_;  // looked up only, never iterated
};

mlir::ModuleOp moduleAt(mlir::Operation* place) {
  auto module = llvm::dyn_cast_or_null<mlir::ModuleOp>(place);
  return module || !place ? module : place->getParentOfType<mlir::ModuleOp>();
}

}  // namespace

namespace {

std::optional<ir::Shape> wholeElements(mlir::Value value, std::size_t maxValues) {
  const Elements elements = Follower(value.getDefiningOp(), maxValues).of(value);
  if (!elements) return std::nullopt;
  Shape result;
  for (const Number& element : *elements) {
    if (!element.isWhole()) return std::nullopt;
    result.push_back(element.over);
  }
  return result;
}

bool isInteger(mlir::Value value) {
  return ir::tensorType(value).getElementType().isIntOrIndex();
}

}  // namespace

std::optional<ir::Shape> symbolicElements(mlir::Value value) {
  if (!value.getDefiningOp() || !isInteger(value)) return std::nullopt;
  return wholeElements(value, std::numeric_limits<std::size_t>::max());
}

std::optional<ir::Shape> symbolicDifference(mlir::Value a, mlir::Value b) {
  if (!isInteger(a) || !isInteger(b) || ir::tensorType(a).getShape() != ir::tensorType(b).getShape())
    return std::nullopt;
  Follower follower(a.getDefiningOp(), std::numeric_limits<std::size_t>::max(), /*stands=*/true);
  const Elements first = follower.of(a), second = follower.of(b);
  if (!first || !second) return std::nullopt;
  Shape result;
  for (auto [x, y] : llvm::zip_equal(*first, *second)) {
    if (!x.isWhole() || !y.isWhole()) return std::nullopt;
    const Dim difference = x.over - y.over;
    if (!difference.isStatic())
      for (const unsigned symbol : ir::symbolsIn(difference.expression(nullptr)))
        if (symbol >= kFirstUnknown) return std::nullopt;
    result.push_back(difference);
  }
  return result;
}

std::optional<ir::Shape> symbolicReals(mlir::Value value) {
  if (!value.getDefiningOp() || isInteger(value)) return std::nullopt;
  return wholeElements(value, std::numeric_limits<std::size_t>::max());
}

mlir::Value foldExtents(mlir::OpBuilder& builder, mlir::Operation* operation) {
  // It is asked of every operation: far fewer than a graph may hold, and more than one extent takes.
  constexpr std::size_t kMaxValues = 256;
  mlir::Value value = operation->getResult(0);
  const auto type = ir::tensorType(value);
  const auto bytes = type.hasStaticShape() ? ir::checkedBytes(type) : std::nullopt;
  if (!isInteger(value) || !bytes || *bytes > ir::kMaxConstantBytes) return {};
  mlir::ModuleOp module = moduleAt(operation);
  if (!module || ir::symbolCount(module) == 0) return {};
  const auto elements = wholeElements(value, kMaxValues);
  if (!elements || !ir::isStatic(*elements)) return {};
  const unsigned width = type.getElementType().getIntOrFloatBitWidth();
  llvm::SmallVector<llvm::APInt> numbers;
  for (const std::int64_t number : ir::numbers(*elements)) {
    if (width < 64 && !type.getElementType().isInteger(1) && !llvm::isIntN(width, number)) return {};
    numbers.emplace_back(width, static_cast<std::uint64_t>(number), /*isSigned=*/true,
                         /*implicitTrunc=*/true);
  }
  // Equal elements are a splat everywhere.
  if (!numbers.empty() && llvm::all_equal(numbers)) numbers.resize(1, numbers.front());
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(operation);
  auto constant = ir::ConstantOp::create(builder, operation->getLoc(), type,
                                         mlir::DenseIntElementsAttr::get(type, numbers));
  operation->replaceAllUsesWith(constant);
  operation->erase();
  return constant;
}

}  // namespace kiln::frontend
