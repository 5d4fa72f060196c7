#include "compiler_core/schedule/strategies/dot_packing/strategy.h"

#include "compiler_core/schedule/emit/cpu/block_options.h"
#include "compiler_core/schedule/emit/cpu/fused_product.h"
#include "compiler_core/schedule/strategies/contract/processor_form.h"
#include "compiler_core/schedule/strategies/dot_packing/dot_packing.h"

namespace kiln::schedule {
namespace {

bool emit(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  return emitDotPacking(rewriter, product.op, options.shape);
}

constexpr ProcessorForm kForm = {.emit = emit};

}  // namespace

constexpr Strategy kDotPackingStrategy = {.processor = &kForm};

}  // namespace kiln::schedule
