#include "compiler_core/frontend/torch/import/symbols.h"

namespace kiln::torch {
namespace {

using Kind = Expression::Kind;

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;

tl::unexpected<Error> unserved(std::string message) {
  return fail(Code::kUnimplemented, std::move(message));
}
std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::string_view functionName(Kind kind) {
  switch (kind) {
    case Kind::kAdd:
      return "Add";
    case Kind::kMul:
      return "Mul";
    case Kind::kMax:
      return "Max";
    case Kind::kMin:
      return "Min";
    case Kind::kPow:
      return "Pow";
    case Kind::kFloorDiv:
      return "FloorDiv";
    case Kind::kMod:
      return "Mod";
    case Kind::kInteger:
    case Kind::kSymbol:
    case Kind::kOther:
      break;
  }
  return "";
}

// Beyond what torch means by no bound.
constexpr std::int64_t kUnbounded = std::int64_t{1} << 62;
// A program exported for sizes from 2 on serves 0 and 1 as well, as torch's own checks have it.
constexpr std::int64_t kLeastThatCounts = 2;

}  // namespace

std::string textOf(const Expression& expression) {
  if (expression.kind == Kind::kInteger) return std::to_string(expression.value);
  if (expression.kind == Kind::kSymbol || expression.kind == Kind::kOther) return expression.text;
  std::string text(functionName(expression.kind));
  text += "(";
  for (std::size_t i = 0; i < expression.operands.size(); ++i)
    text += (i ? ", " : "") + textOf(expression.operands[i]);
  return text + ")";
}

Symbols::Symbols(mlir::MLIRContext* context, const Program& program, const frontend::ImportOptions& options)
    : context_(context), program_(program), binder_(options.dims, options.ranges) {}

std::optional<ir::Range> Symbols::rangeOf(const ir::Dim& dim) const {
  return ir::rangeOf(dim, limits_);
}

// Within what extents can be, so that products of a few stay in 64 bits.
Result<ir::Dim> Symbols::bounded(const Expression& expression, const ir::Dim& made) const {
  const auto range = rangeOf(made);
  if (range && range->min >= -kMaxExtent && range->max <= kMaxExtent) return made;
  return fail(Code::kInvalidArgument, "the size " + textOf(expression) + " is absurd");
}

Result<ir::Dim> Symbols::extent(const Expression& expression) const {
  if (expression.kind == Kind::kInteger) return bounded(expression, ir::Dim(expression.value));
  if (expression.kind == Kind::kSymbol) {
    const auto found = values_.find(expression.text);
    if (found != values_.end()) return found->second;
    return unserved("the size " + expression.text +
                    " is none of an input's: it depends on values, which is not served");
  }
  if (expression.kind == Kind::kOther)
    return unserved("the expression " + expression.text + " over symbolic sizes is not served");
  llvm::SmallVector<ir::Dim> operands;
  for (const Expression& operand : expression.operands) {
    KILN_ASSIGN(const ir::Dim one, extent(operand));
    operands.push_back(one);
  }
  if (operands.empty()) return unserved("an expression without operands");
  auto undecided = [&] {
    return unserved("the size " + textOf(expression) +
                    " is not served for these profiles; give the dimensions one number each");
  };
  ir::Dim result = operands[0];
  switch (expression.kind) {
    case Kind::kAdd:
      for (std::size_t i = 1; i < operands.size(); ++i) {
        KILN_ASSIGN(result, bounded(expression, result + operands[i]));
      }
      return result;
    case Kind::kMul:
      for (std::size_t i = 1; i < operands.size(); ++i) {
        KILN_ASSIGN(result, bounded(expression, result * operands[i]));
      }
      return result;
    case Kind::kPow: {
      constexpr std::int64_t kMostFactors = 16;
      if (!operands[1].isStatic() || operands[1].value() < 0 || operands[1].value() > kMostFactors)
        return undecided();
      result = ir::Dim(1);
      for (std::int64_t i = 0; i < operands[1].value(); ++i) {
        KILN_ASSIGN(result, bounded(expression, result * operands[0]));
      }
      return result;
    }
    case Kind::kFloorDiv:
    case Kind::kMod: {
      if (expression.kind == Kind::kFloorDiv)
        if (const auto exact = ir::exactDiv(operands[0], operands[1])) return *exact;
      if (!operands[1].isStatic() || operands[1].value() < 1) return undecided();
      const std::int64_t by = operands[1].value();
      const auto made =
          expression.kind == Kind::kFloorDiv ? ir::floorDiv(operands[0], by) : ir::modulo(operands[0], by);
      return made ? Result<ir::Dim>(*made) : undecided();
    }
    default: {  // the largest or the smallest, where ranges tell
      for (std::size_t i = 1; i < operands.size(); ++i) {
        const auto difference = rangeOf(result - operands[i]);
        if (!difference || (difference->min < 0 && difference->max > 0)) return undecided();
        const bool isLess = difference->max <= 0;
        if (isLess == (expression.kind == Kind::kMax)) result = operands[i];
      }
      return result;
    }
  }
}

Result<Symbols::Definition> Symbols::definitionOf(const std::string& input, std::size_t index,
                                                  const Expression& size) {
  Definition out;
  if (size.kind == Kind::kInteger) {
    out.dim.value = size.value;
    return out;
  }
  if (size.kind == Kind::kSymbol) {
    out.dim.name = out.symbol = size.text;
    return out;
  }
  const bool isMultiple = size.kind == Kind::kMul && size.operands.size() == 2 &&
                          size.operands[0].kind == Kind::kInteger && size.operands[0].value > 0 &&
                          size.operands[1].kind == Kind::kSymbol;
  const std::string place = "input " + quoted(input) + ", dimension " + std::to_string(index);
  if (!isMultiple)
    return unserved(place + ": a size of " + textOf(size) +
                    " is not served; a symbol or a multiple of one is");
  out.symbol = size.operands[1].text;
  out.factor = size.operands[0].value;
  const auto [known, isNew] = multiples_.try_emplace(textOf(size), input + "." + std::to_string(index));
  if (isNew && values_.contains(out.symbol))
    return unserved(place + ": a size of " + textOf(size) +
                    " beside one of another multiple of the symbol is not served");
  out.dim.name = known->second;
  return out;
}

Status Symbols::checkRange(const Definition& definition, const std::string& name,
                           analysis::DimBounds bounds) const {
  const auto found = program_.ranges.find(definition.symbol);
  if (found == program_.ranges.end()) return {};
  const auto& [min, max] = found->second;
  const std::int64_t least = min && *min > kLeastThatCounts ? *min : 0;
  const std::int64_t most = max ? std::min(*max, kUnbounded) : kUnbounded;
  if (bounds.min / definition.factor >= least && bounds.max / definition.factor <= most) return {};
  auto size = [&](std::int64_t bound) {
    return bound >= kUnbounded / definition.factor ? "any size" : std::to_string(bound * definition.factor);
  };
  return fail(Code::kFailedPrecondition, "the profiles let dimension " + quoted(name) + " be " +
                                             std::to_string(bounds.min) + " to " +
                                             std::to_string(bounds.max) + "; the program was exported for " +
                                             size(least) + " to " + size(most));
}

Result<ir::Dim> Symbols::define(const Definition& definition, const std::string& input, std::size_t index,
                                const std::string& name, std::int64_t bound) {
  if (const auto known = named_.find(name); known != named_.end()) return known->second;
  analysis::DimBounds bounds{bound, bound};
  const bool isRange = bound == analysis::kSymbolic;
  if (isRange) bounds = binder_.ranges().at(name);
  KILN_TRY(checkRange(definition, name, bounds));
  const std::int64_t step = isRange ? bounds.multiple : bounds.min;
  if (step % definition.factor != 0)
    return fail(Code::kFailedPrecondition,
                "dimension " + quoted(name) + " is a multiple of " + std::to_string(definition.factor) +
                    "; say so in its profile: MIN:OPT:MAX:" + std::to_string(definition.factor));
  const ir::Range range{bounds.min / bounds.multiple, bounds.max / bounds.multiple};
  const auto number = static_cast<unsigned>(all_.size());
  all_.push_back({name, input, static_cast<std::int64_t>(index), false, {}, range, bounds.multiple});
  limits_.push_back(range);
  // Sizes of one value are that number in the graph.
  const ir::Dim symbol = ir::Dim::symbol(context_, number);
  const ir::Dim size = isRange ? symbol * ir::Dim(bounds.multiple) : ir::Dim(bounds.min);
  values_.emplace(definition.symbol, isRange ? symbol * ir::Dim(bounds.multiple / definition.factor)
                                             : ir::Dim(bounds.min / definition.factor));
  named_.emplace(name, size);
  return size;
}

Result<Symbols::Bound> Symbols::bind(const std::string& input, const std::vector<Expression>& sizes) {
  std::vector<analysis::DeclaredDim> declared;
  std::vector<Definition> definitions;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    KILN_ASSIGN(Definition definition, definitionOf(input, i, sizes[i]));
    declared.push_back(definition.dim);
    definitions.push_back(std::move(definition));
  }
  Bound out;
  KILN_ASSIGN(out.signature, binder_.bind(input, declared));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string& name = out.signature.dimNames[i];
    const std::int64_t bound = out.signature.shape[i];
    if (name.empty()) {
      out.shape.emplace_back(bound);
    } else {
      KILN_ASSIGN(const ir::Dim size, define(definitions[i], input, i, name, bound));
      out.shape.push_back(size);
    }
    const auto range = rangeOf(out.shape.back());
    out.most.push_back(range ? range->max : INT64_MAX);
  }
  return out;
}

}  // namespace kiln::torch
