#include "compiler_core/transforms/constants.h"

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/ir/spooled_weight.h"
#include "compiler_core/ir/types.h"

namespace kiln::transforms {

std::optional<reference::HostTensor> readConstant(mlir::Value value, const ir::WeightTable& weights) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 30;
  auto bytes = ir::checkedBytes(ir::tensorType(value));
  if (!bytes || *bytes > kLimit) return std::nullopt;
  return reference::constantValue(value, weights);
}

mlir::Value makeConstant(mlir::OpBuilder& builder, mlir::Location location, reference::HostTensor tensor,
                         ir::WeightTable& weights, std::string name, const std::string& spool) {
  auto type = mlir::RankedTensorType::get(tensor.shape, ir::elementType(builder.getContext(), tensor.dtype));
  if (tensor.bytes.size() <= static_cast<std::size_t>(ir::kMaxConstantBytes) ||
      analysis::isSplat(tensor.bytes, dtypeBytes(tensor.dtype)))
    return ir::ConstantOp::create(builder, location, type,
                                  analysis::toElements(builder.getContext(), tensor));
  const std::int64_t index = ir::addSpooled(weights, spool, std::move(name), tensor.dtype,
                                            std::move(tensor.shape), std::move(tensor.bytes));
  return ir::WeightOp::create(builder, location, type, static_cast<std::uint64_t>(index));
}

std::string weightName(mlir::Value value, const ir::WeightTable& weights) {
  auto weight = value.getDefiningOp<ir::WeightOp>();
  const ir::Weight* entry = weight ? weights.find(static_cast<std::int64_t>(weight.getIndex())) : nullptr;
  return entry ? entry->name : "";
}

}  // namespace kiln::transforms
