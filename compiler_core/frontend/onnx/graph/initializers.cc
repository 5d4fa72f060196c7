#include "compiler_core/frontend/onnx/graph/initializers.h"

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/ir/types.h"

namespace kiln::onnx {

Result<mlir::Value> Initializers::import(mlir::OpBuilder& builder, mlir::Location location,
                                         const Tensor& tensor, std::string name) {
  KILN_ASSIGN(ir::Weight weight, tensorData(tensor, file_, external_));
  weight.name = std::move(name);
  return add(builder, location, std::move(weight));
}

mlir::Value Initializers::add(mlir::OpBuilder& builder, mlir::Location location, ir::Weight weight) {
  auto type = mlir::RankedTensorType::get(weight.shape, ir::elementType(builder.getContext(), weight.dtype));
  const std::size_t width = dtypeBytes(weight.dtype);
  const bool splat = analysis::isSplat(weight.bytes, width);
  if (!splat && weight.bytes.size() > static_cast<std::size_t>(ir::kMaxConstantBytes))
    return ir::WeightOp::create(builder, location, type,
                                static_cast<std::uint64_t>(table_.add(std::move(weight))));
  Bytes bytes = splat ? weight.bytes.first(width) : weight.bytes;
  return ir::ConstantOp::create(
      builder, location, type, analysis::toElements(builder.getContext(), weight.dtype, weight.shape, bytes));
}

const ir::Weight* Initializers::find(mlir::Value value) const {
  auto weight = value.getDefiningOp<ir::WeightOp>();
  return weight ? table_.find(static_cast<std::int64_t>(weight.getIndex())) : nullptr;
}

}  // namespace kiln::onnx
