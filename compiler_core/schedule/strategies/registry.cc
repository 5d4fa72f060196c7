#include "compiler_core/schedule/strategies/registry.h"

#include "compiler_core/schedule/strategies/channel_lanes/strategy.h"
#include "compiler_core/schedule/strategies/gpu_product/strategy.h"
#include "compiler_core/schedule/strategies/im2col/strategy.h"
#include "compiler_core/schedule/strategies/product/strategy.h"
#include "compiler_core/schedule/strategies/winograd/strategy.h"

namespace kiln::schedule {

std::span<const Strategy* const> strategies() {
  static constexpr const Strategy* kAll[] = {
      &kWinogradStrategy, &kChannelLanesStrategy, &kIm2colStrategy, &kProductStrategy, &kGpuProductStrategy,
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
