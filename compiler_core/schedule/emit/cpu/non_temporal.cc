#include "compiler_core/schedule/emit/cpu/non_temporal.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/groups.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// More than a core's part of the last cache.
constexpr std::int64_t kMinBytes = std::int64_t{8} << 20;
// Smaller registers have no such store of their own on every processor.
constexpr std::int64_t kMinBits = 256;

// Whether the task around `op` computes for longer than its results take on their way to memory, for which
// functions of the math library stand. On one thread such kernels were slower with non-temporal stores.
bool computesLong(Operation* op) {
  auto task = op->getParentOfType<scf::ForallOp>();
  if (!task) return true;
  return task
      ->walk([](Operation* inner) {
        const bool isFunction = isa_and_nonnull<math::MathDialect>(inner->getDialect()) &&
                                !isa<math::SqrtOp, math::FmaOp, math::AbsFOp>(inner);
        return isFunction ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// Whether rows are whole registers of `width` elements, one behind the other.
bool hasWholeRows(MemRefType type, std::int64_t width) {
  SmallVector<std::int64_t> strides;
  std::int64_t offset = 0;
  return type.getRank() > 0 && succeeded(type.getStridesAndOffset(strides, offset)) && strides.back() == 1 &&
         llvm::all_of(ArrayRef(strides).drop_back(), [&](std::int64_t stride) {
           return !ShapedType::isDynamic(stride) && stride % width == 0;
         });
}

// Whether `offset` is where `source` begins, or a number of whole registers behind.
bool isWholeRegistersBehind(OpFoldResult offset, Value source, std::int64_t width) {
  if (const auto number = getConstantIntValue(offset)) return *number % width == 0;
  auto value = cast<Value>(offset);
  if (auto apply = value.getDefiningOp<affine::AffineApplyOp>()) {
    const AffineMap map = apply.getAffineMap();
    if (map.getNumInputs() != 1) return false;
    const AffineExpr behind =
        map.getResult(0) -
        (map.getNumDims() ? getAffineDimExpr(0, map.getContext()) : getAffineSymbolExpr(0, map.getContext()));
    auto number =
        dyn_cast<AffineConstantExpr>(simplifyAffineExpr(behind, map.getNumDims(), map.getNumSymbols()));
    if (!number || number.getValue() % width != 0) return false;
    value = apply.getMapOperands()[0];
  }
  auto metadata = value.getDefiningOp<memref::ExtractStridedMetadataOp>();
  return metadata && metadata.getSource() == source && value == metadata.getOffset();
}

// The argument of the function that the buffer is part of, if the part begins with a whole register of it.
BlockArgument alignedPartOf(Value buffer, std::int64_t width) {
  if (!hasWholeRows(cast<MemRefType>(buffer.getType()), width)) return {};
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    return isa<func::FuncOp>(argument.getOwner()->getParentOp()) ? argument : BlockArgument();
  if (auto part = buffer.getDefiningOp<memref::SubViewOp>()) {
    if (getConstantIntValue(part.getMixedStrides().back()) != 1) return {};
    const auto first = getConstantIntValue(part.getMixedOffsets().back());
    if (!first || *first % width != 0 || part.getType().getRank() != part.getSourceType().getRank())
      return {};
    return alignedPartOf(part.getSource(), width);
  }
  if (auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>())
    if (isWholeRegistersBehind(view.getMixedOffsets()[0], view.getSource(), width))
      return alignedPartOf(view.getSource(), width);
  return {};
}

// Whether operations besides `writer` have the buffer, or what it is a part of.
bool isRead(Value buffer, linalg::LinalgOp writer) {
  const auto another = [&](Operation* user) { return user != writer && isa<linalg::LinalgOp>(user); };
  if (llvm::any_of(buffer.getUsers(), another)) return true;
  auto part = buffer.getDefiningOp<ViewLikeOpInterface>();
  return part && isRead(part.getViewSource(), writer);
}

}  // namespace

bool wantsNonTemporalStores(linalg::LinalgOp op, const VectorShape& shape) {
  if (shape.bits < kMinBits || !op.hasPureBufferSemantics() || op.getNumDpsInits() != 1 || !isPointwise(op))
    return false;
  OpOperand* out = op.getDpsInitOperand(0);
  const Type element = getElementTypeOrSelf(out->get().getType());
  if (element.getIntOrFloatBitWidth() != 32 || op.payloadUsesValueFromOperand(out) ||
      !op.getMatchingIndexingMap(out).isIdentity())
    return false;
  const BlockArgument result = alignedPartOf(out->get(), shape.bits / 32);
  if (!result || computesLong(op) || isRead(out->get(), op)) return false;
  auto main = cast<func::FuncOp>(result.getOwner()->getParentOp());
  auto type = cast<MemRefType>(result.getType());
  return ir::OutputAttr::isOn(main, result.getArgNumber()) && type.hasStaticShape() &&
         type.getLayout().isIdentity() && type.getNumElements() * 4 >= kMinBytes &&
         result.hasOneUse();  // by the task
}

void orderStores(OpBuilder& builder, Operation* op) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op->getParentOfType<scf::ForallOp>().getBody()->getTerminator());
  LLVM::FenceOp::create(builder, op->getLoc(), LLVM::AtomicOrdering::seq_cst);
}

}  // namespace kiln::schedule
