// What the registry as a whole has to give, whatever rooms there are.
#include "compiler_core/schedule/strategies/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace kiln::schedule {
namespace {

constexpr KernelKind kKinds[] = {KernelKind::kContraction, KernelKind::kConvolution, KernelKind::kAttention,
                                 KernelKind::kReduction,   KernelKind::kElementwise, KernelKind::kDepthwise};

TEST(Registry, EveryKindOfKernelHasOneDefaultTile) {
  for (const KernelKind kind : kKinds) {
    std::ptrdiff_t rules = 0, deviceRules = 0;
    for (const Strategy* strategy : strategies()) {
      rules += std::ranges::count(strategy->tiles, kind, &TileRule::kind);
      deviceRules += std::ranges::count(strategy->deviceTiles, kind, &DeviceTileRule::kind);
      if (strategy->deviceTile)
        deviceRules +=
            strategy->deviceTile({kind, {{64, true}, {64, true}, {64, true}, {64, true}}}).has_value();
    }
    EXPECT_EQ(rules, 1) << templateOf(kind);
    EXPECT_EQ(deviceRules, 1) << templateOf(kind);
  }
}

TEST(Registry, AKnobBelongsToOneStrategy) {
  std::set<std::string_view> names;
  for (const Strategy* strategy : strategies())
    for (const KnobRule& rule : strategy->knobs) EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
}

}  // namespace
}  // namespace kiln::schedule
