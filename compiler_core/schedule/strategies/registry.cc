#include "compiler_core/schedule/strategies/registry.h"

#include "compiler_core/schedule/strategies/attention/strategy.h"
#include "compiler_core/schedule/strategies/channel_lanes/strategy.h"
#include "compiler_core/schedule/strategies/depthwise/strategy.h"
#include "compiler_core/schedule/strategies/dot_packing/strategy.h"
#include "compiler_core/schedule/strategies/gpu_attention/strategy.h"
#include "compiler_core/schedule/strategies/gpu_library/strategy.h"
#include "compiler_core/schedule/strategies/gpu_pointwise/strategy.h"
#include "compiler_core/schedule/strategies/gpu_product/strategy.h"
#include "compiler_core/schedule/strategies/gpu_reduction/strategy.h"
#include "compiler_core/schedule/strategies/im2col/strategy.h"
#include "compiler_core/schedule/strategies/min_max/strategy.h"
#include "compiler_core/schedule/strategies/product/strategy.h"
#include "compiler_core/schedule/strategies/sums/strategy.h"
#include "compiler_core/schedule/strategies/winograd/strategy.h"

namespace kiln::schedule {

std::span<const Strategy* const> strategies() {
  static constexpr const Strategy* kAll[] = {
      // For processors.
      &kDotPackingStrategy,
      &kWinogradStrategy,
      &kChannelLanesStrategy,
      &kIm2colStrategy,
      &kDepthwiseStrategy,
      &kAttentionStrategy,
      &kSumsStrategy,
      &kMinMaxStrategy,
      &kProductStrategy,
      // For devices.
      &kGpuAttentionStrategy,
      &kGpuLibraryStrategy,
      &kGpuProductStrategy,
      &kGpuReductionStrategy,
      &kGpuPointwiseStrategy,
  };
  return kAll;
}

const KnobRule* ruleOf(std::string_view knob) {
  for (const Strategy* strategy : strategies())
    for (const KnobRule& rule : strategy->knobs)
      if (rule.name == knob) return &rule;
  return nullptr;
}

}  // namespace kiln::schedule
