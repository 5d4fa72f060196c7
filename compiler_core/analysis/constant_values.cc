#include "compiler_core/analysis/constant_values.h"

#include "compiler_core/ir/types.h"

namespace kiln::analysis {

bool isSplat(Bytes bytes, std::size_t width) {
  if (bytes.size() < width) return false;
  for (std::size_t i = width; i < bytes.size(); ++i)
    if (bytes[i] != bytes[i - width]) return false;
  return true;
}

mlir::DenseElementsAttr toElements(mlir::MLIRContext* context, DType dtype,
                                   llvm::ArrayRef<std::int64_t> shape, Bytes bytes) {
  auto type = mlir::RankedTensorType::get(shape, ir::elementType(context, dtype));
  if (dtype == DType::kBool) {
    llvm::SmallVector<bool> values(bytes.begin(), bytes.end());
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef(values));
  }
  if (bytes.empty()) return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>());
  if (const unsigned width = type.getElementTypeBitWidth(); width < 8) {
    // The attribute keeps the bits of the element alone.
    std::vector<char> codes;
    for (std::uint8_t byte : bytes) codes.push_back(static_cast<char>(byte & ((1u << width) - 1)));
    return mlir::DenseElementsAttr::getFromRawBuffer(type, codes);
  }
  return mlir::DenseElementsAttr::getFromRawBuffer(
      type, llvm::ArrayRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

mlir::DenseElementsAttr toElements(mlir::MLIRContext* context, const reference::HostTensor& tensor) {
  Bytes bytes(tensor.bytes);
  std::size_t width = dtypeBytes(tensor.dtype);
  return toElements(context, tensor.dtype, tensor.shape, isSplat(bytes, width) ? bytes.first(width) : bytes);
}

mlir::Value foldSmall(mlir::OpBuilder& builder, mlir::Operation* operation) {
  if (operation->getNumResults() != 1 || operation->getNumRegions()) return {};
  if (operation->getNumOperands() == 0 && !llvm::isa<ir::IotaOp>(operation)) return {};
  auto small = [](mlir::Value value) {
    auto bytes = ir::checkedBytes(ir::tensorType(value));
    return bytes && *bytes <= ir::kMaxConstantBytes;
  };
  if (!small(operation->getResult(0))) return {};
  std::vector<reference::HostTensor> values;
  for (mlir::Value operand : operation->getOperands()) {
    auto constant = operand.getDefiningOp<ir::ConstantOp>();
    if (!constant || !small(operand)) return {};
    values.push_back(*reference::constantValue(operand, ir::WeightTable()));
  }
  llvm::SmallVector<const reference::HostTensor*> operands;
  for (const auto& value : values) operands.push_back(&value);
  auto result = reference::evaluateOperation(operation, operands);
  if (!result) return {};
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(operation);
  auto constant = ir::ConstantOp::create(builder, operation->getLoc(), operation->getResult(0).getType(),
                                         toElements(builder.getContext(), *result));
  operation->replaceAllUsesWith(constant);
  operation->erase();
  return constant;
}

}  // namespace kiln::analysis
