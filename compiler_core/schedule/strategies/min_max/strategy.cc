#include "compiler_core/schedule/strategies/min_max/strategy.h"

#include "compiler_core/schedule/emit/cpu/block_options.h"
#include "compiler_core/schedule/emit/cpu/fused_product.h"
#include "compiler_core/schedule/strategies/contract/processor_form.h"
#include "compiler_core/schedule/strategies/min_max/min_max.h"

namespace kiln::schedule {
namespace {

bool emit(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  return product.parts().size() == 1 && emitMinMax(rewriter, product.op, options.shape);
}

constexpr ProcessorForm kForm = {.emit = emit, .joinsLoops = true};

}  // namespace

constexpr Strategy kMinMaxStrategy = {.processor = &kForm};

}  // namespace kiln::schedule
