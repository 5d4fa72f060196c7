#include "compiler_core/frontend/graph/tensors.h"

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/ir/types.h"

namespace kiln::frontend {

mlir::Value addTensor(ir::WeightTable& table, mlir::OpBuilder& builder, mlir::Location location,
                      ir::Weight weight) {
  auto type = mlir::RankedTensorType::get(weight.shape, ir::elementType(builder.getContext(), weight.dtype));
  const std::size_t width = dtypeBytes(weight.dtype);
  const bool splat = analysis::isSplat(weight.bytes, width);
  if (!splat && weight.bytes.size() > static_cast<std::size_t>(ir::kMaxConstantBytes))
    return ir::WeightOp::create(builder, location, type,
                                static_cast<std::uint64_t>(table.add(std::move(weight))));
  Bytes bytes = splat ? weight.bytes.first(width) : weight.bytes;
  return ir::ConstantOp::create(
      builder, location, type, analysis::toElements(builder.getContext(), weight.dtype, weight.shape, bytes));
}

const ir::Weight* findWeight(const ir::WeightTable& table, mlir::Value value) {
  auto weight = value.getDefiningOp<ir::WeightOp>();
  return weight ? table.find(static_cast<std::int64_t>(weight.getIndex())) : nullptr;
}

}  // namespace kiln::frontend
