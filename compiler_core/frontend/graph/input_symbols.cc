#include "compiler_core/frontend/graph/input_symbols.h"

#include "compiler_core/frontend/graph/graph_builder.h"
#include "compiler_core/ir/types.h"

namespace kiln::frontend {
namespace {

constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;

}  // namespace

Result<InputSymbols::Input> InputSymbols::input(std::string name, DType dtype,
                                                const std::vector<analysis::DeclaredDim>& dims) {
  KILN_ASSIGN(analysis::BoundShape bound, binder_.bind(name, dims));
  ir::Shape extents = ir::toShape(bound.shape);
  Dims most;  // as large as the profiles let it be
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::string& own = bound.dimNames[i];
    if (!own.empty()) {
      const analysis::DimBounds bounds = bound.shape[i] == analysis::kSymbolic
                                             ? binder_.ranges().at(own)
                                             : analysis::DimBounds{bound.shape[i], bound.shape[i]};
      extents[i] = symbol(own, name, static_cast<std::int64_t>(i), /*element=*/false, bounds);
    }
    most.push_back(ir::rangeOf(extents[i], limits_)->max);
  }
  const auto bytes = ir::checkedBytes(mlir::RankedTensorType::get(most, ir::elementType(context_, dtype)));
  if (!bytes || *bytes > kMaxTensorBytes)
    return fail(Code::kInvalidArgument, "input '" + name + "' has the absurd shape " + shapeText(most));
  return Input{{std::move(name), dtype, std::move(bound.shape), std::move(bound.dimNames)},
               std::move(extents)};
}

std::optional<ir::Dim> InputSymbols::element(const std::string& input, std::int64_t index) {
  const auto bounds = binder_.element(input, index);
  if (!bounds) return std::nullopt;
  return symbol(input + "[" + std::to_string(index) + "]", input, index, /*element=*/true, *bounds);
}

// The one called `name`, made when it is first met.
ir::Dim InputSymbols::symbol(std::string name, std::string_view input, std::int64_t index, bool element,
                             analysis::DimBounds bounds) {
  auto [place, isNew] = byName_.try_emplace(name, static_cast<unsigned>(symbols_.size()));
  if (isNew) {
    const ir::Range range{bounds.min / bounds.multiple, bounds.max / bounds.multiple};
    symbols_.push_back({std::move(name), std::string(input), index, element, {}, range, bounds.multiple});
    limits_.push_back(range);
  }
  return binder_.ranges().contains(place->first) ? ir::Dim::symbol(context_, place->second) * bounds.multiple
                                                 : ir::Dim(bounds.min);
}

ir::Signature signatureOf(std::string name, mlir::RankedTensorType type, const ir::SizeTexts& sizes) {
  ir::Signature signature{std::move(name), *ir::dtypeOf(type.getElementType()), {}, {}};
  for (const ir::Dim& dim : ir::shapeOf(type)) {
    signature.shape.push_back(dim.isStatic() ? dim.value() : analysis::kSymbolic);
    signature.dimNames.push_back(dim.isStatic() ? "" : sizes.text(dim));
  }
  return signature;
}

}  // namespace kiln::frontend
