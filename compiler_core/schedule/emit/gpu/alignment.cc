#include <numeric>

#include "compiler_core/schedule/emit/gpu/emit.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

constexpr std::int64_t kBuffer = 64;  // of arguments, and of what the memory planner places

std::int64_t elementBytes(Value buffer) {
  return std::max<std::int64_t>(1, getElementTypeOrSelf(buffer.getType()).getIntOrFloatBitWidth() / 8);
}

// What an index is a multiple of.
std::int64_t divisorOf(OpFoldResult index) {
  if (auto number = getConstantIntValue(index)) return *number;
  auto value = cast<Value>(index);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForallOp>(argument.getOwner()->getParentOp());
    if (!loop) return 1;
    const auto low = getConstantIntValue(loop.getMixedLowerBound()[argument.getArgNumber()]),
               step = getConstantIntValue(loop.getMixedStep()[argument.getArgNumber()]);
    return low && step ? std::gcd(*low, *step) : 1;
  }
  if (auto apply = value.getDefiningOp<affine::AffineApplyOp>())
    return apply.getAffineMap().getResult(0).getLargestKnownDivisor();
  return 1;
}

std::int64_t alignmentOf(memref::SubViewOp view) {
  SmallVector<std::int64_t> strides;
  std::int64_t offset = 0;
  if (failed(view.getSourceType().getStridesAndOffset(strides, offset))) return elementBytes(view);
  std::int64_t result = schedule::alignmentOf(view.getSource());
  for (auto [at, stride] : llvm::zip_equal(view.getMixedOffsets(), strides)) {
    const std::int64_t step = ShapedType::isDynamic(stride) ? 1 : stride;
    result = std::gcd(result, divisorOf(at) * step * elementBytes(view));
  }
  return result;
}

}  // namespace

std::int64_t alignmentOf(Value buffer) {
  if (isa<BlockArgument>(buffer))
    return isa<func::FuncOp>(cast<BlockArgument>(buffer).getOwner()->getParentOp()) ? kBuffer
                                                                                    : elementBytes(buffer);
  return llvm::TypeSwitch<Operation*, std::int64_t>(buffer.getDefiningOp())
      .Case([](memref::AllocOp) { return kBuffer; })
      .Case([](memref::SubViewOp view) { return alignmentOf(view); })
      .Case<memref::CollapseShapeOp, memref::ExpandShapeOp, memref::CastOp>(
          [](auto view) { return schedule::alignmentOf(view.getViewSource()); })
      .Case([&](memref::ReinterpretCastOp view) {
        return std::gcd(schedule::alignmentOf(view.getSource()),
                        divisorOf(view.getMixedOffsets()[0]) * elementBytes(buffer));
      })
      .Default([&](Operation*) { return elementBytes(buffer); });
}

}  // namespace kiln::schedule
