#include "compiler_core/codegen/lower/dense_part.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::codegen {

using namespace mlir;

namespace {

// Whether all that uses a view takes another layout, and retypeViews() can say which.
bool areRetyped(Value view) {
  return llvm::all_of(view.getUsers(), [](Operation* user) {
    if (auto inner = dyn_cast<memref::SubViewOp>(user)) return areRetyped(inner);
    // Casts take the offset that they are told.
    if (isa<memref::ReinterpretCastOp>(user)) return true;
    return isa<memref::ExtractStridedMetadataOp, memref::LoadOp, memref::StoreOp, vector::LoadOp,
               vector::StoreOp, vector::MaskedLoadOp, vector::MaskedStoreOp>(user);
  });
}

}  // namespace

std::optional<DensePart> densePartOf(Operation* op) {
  auto view = dyn_cast_or_null<memref::SubViewOp>(op);
  if (!view) return std::nullopt;
  const MemRefType type = view.getType();
  SmallVector<std::int64_t> strides;
  std::int64_t begin = 0, dense = 1;
  if (!type.hasStaticShape() || failed(type.getStridesAndOffset(strides, begin)) ||
      ShapedType::isDynamic(begin) || !cast<MemRefType>(view.getSource().getType()).getLayout().isIdentity())
    return std::nullopt;
  for (auto [size, stride] : llvm::reverse(llvm::zip_equal(type.getShape(), strides))) {
    if (size != 1 && stride != dense) return std::nullopt;
    dense *= size;
  }
  if (!areRetyped(view)) return std::nullopt;
  return DensePart{view.getSource(), MemRefType::get(type.getShape(), type.getElementType()),
                   begin * static_cast<std::int64_t>((type.getElementTypeBitWidth() + 7) / 8)};
}

void retypeViews(Value part) {
  for (Operation* user : part.getUsers()) {
    auto inner = dyn_cast<memref::SubViewOp>(user);
    if (!inner) continue;
    inner.getResult().setType(memref::SubViewOp::inferRankReducedResultType(
        inner.getType().getShape(), cast<MemRefType>(part.getType()), inner.getMixedOffsets(),
        inner.getMixedSizes(), inner.getMixedStrides()));
    retypeViews(inner);
  }
}

}  // namespace kiln::codegen
