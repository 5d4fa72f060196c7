#include "compiler_core/schedule/emit/cpu/unrolling.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace kiln::schedule {

using namespace mlir;

bool isLongRow(OpFoldResult extent, Type type) {
  constexpr std::int64_t kMinBytes = 1024;
  const auto number = getConstantIntValue(extent);
  return !number || *number * type.getIntOrFloatBitWidth() / 8 >= kMinBytes;
}

void disableUnrolling(scf::ForOp loop) {
  MLIRContext* context = loop.getContext();
  const auto yes = BoolAttr::get(context, true);
  const auto unroll = LLVM::LoopUnrollAttr::get(context, yes, {}, {}, {}, {}, {}, {});
  loop->setAttr("llvm.loop_annotation", LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                                                      {}, {}, {}, {}, {}, {}, {}, {}));
}

}  // namespace kiln::schedule
