#include "compiler_core/ir/packed/packed_ops.h"

#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/types.h"

#define GET_OP_CLASSES
#include "compiler_core/ir/packed/packed_ops.cc.inc"

namespace kiln::ir {

mlir::LogicalResult DequantiseOp::inferReturnTypes(mlir::MLIRContext* context,
                                                   std::optional<mlir::Location> location, Adaptor adaptor,
                                                   llvm::SmallVectorImpl<mlir::Type>& types) {
  const auto codes = tensorType(adaptor.getCodes()), scales = tensorType(adaptor.getScales());
  const auto bits = static_cast<std::int64_t>(adaptor.getBits());
  const auto error = [&](const char* text) { return mlir::emitOptionalError(location, text); };
  if (bits != 2 && bits != 4 && bits != 8) return error("codes have 2, 4 or 8 bits");
  if (!codes.hasStaticShape() || codes.getRank() != 3) return error("codes are [blocks, bytes, columns]");
  if (bits != 8 && !codes.getElementType().isUnsignedInteger(8))
    return error("codes below a byte lie in unsigned bytes");
  const std::int64_t blocks = codes.getDimSize(0), bytes = codes.getDimSize(1), columns = codes.getDimSize(2);
  const llvm::SmallVector<std::int64_t> each = {blocks, columns};
  if (scales.getShape() != llvm::ArrayRef(each)) return error("scales are not [blocks, columns]");
  if (adaptor.getZeros()) {
    const auto zeros = tensorType(adaptor.getZeros());
    if (zeros.getShape() != llvm::ArrayRef(each)) return error("zeros are not [blocks, columns]");
    if (!zeros.getElementType().isF32() && zeros.getElementType() != codes.getElementType())
      return error("zeros are neither f32 nor of the codes' type");
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (bytes > kMost / 4 || (bytes && blocks > kMost / 4 / bytes)) return error("absurd number of rows");
  types.push_back(
      mlir::RankedTensorType::get({blocks * bytes * (8 / bits), columns}, mlir::Float32Type::get(context)));
  return mlir::success();
}

}  // namespace kiln::ir
