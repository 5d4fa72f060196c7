#include "compiler_core/memory/footprint.h"

#include "compiler_core/memory/intervals.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace kiln::memory {

using namespace mlir;

std::uint64_t movedBytes(scf::ForallOp loop, ArrayRef<ir::Range> limits) {
  Intervals intervals(limits);
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(loop.getRegion(), outside);
  std::uint64_t moved = 0;
  for (Value value : outside) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type) continue;
    bool isRead = false, isWritten = false;
    SmallVector<Value> views = {value};
    while (!views.empty()) {
      Value view = views.pop_back_val();
      for (Operation* user : view.getUsers()) {
        if (!loop->isProperAncestor(user)) continue;
        if (isa<ViewLikeOpInterface>(user)) {
          views.append(user->result_begin(), user->result_end());
          continue;
        }
        if (isa<memref::ExtractStridedMetadataOp>(user)) continue;
        auto effects = dyn_cast<MemoryEffectOpInterface>(user);
        isRead |= !effects || effects.getEffectOnValue<MemoryEffects::Read>(view);
        isWritten |= !effects || effects.getEffectOnValue<MemoryEffects::Write>(view);
      }
    }
    std::uint64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
    for (unsigned i = 0; i < type.getRank(); ++i)
      bytes = llvm::SaturatingMultiply(bytes, std::uint64_t(intervals.extent(value, i).value_or(0)));
    moved = llvm::SaturatingMultiplyAdd(std::uint64_t{isRead} + std::uint64_t{isWritten}, bytes, moved);
  }
  return std::min(moved, std::uint64_t{1} << 62);
}

}  // namespace kiln::memory
