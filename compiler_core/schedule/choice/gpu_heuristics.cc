#include "compiler_core/schedule/choice/gpu_heuristics.h"

#include <algorithm>
#include <limits>

#include "compiler_core/schedule/strategies/registry.h"

namespace kiln::schedule {
namespace {

const DeviceTileRule& tileRuleOf(KernelKind kind) {
  const DeviceTileRule* found = nullptr;
  for (const Strategy* strategy : strategies())
    for (const DeviceTileRule& rule : strategy->deviceTiles)
      if (rule.kind == kind) found = &rule;
  return *found;
}

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes)
    if (__builtin_mul_overflow(result, std::max<std::int64_t>(1, size), &result))
      return std::numeric_limits<std::int64_t>::max();
  return result;
}

std::int64_t divisor(std::int64_t extent, std::int64_t limit) {
  for (std::int64_t d = std::min(extent, limit); d > 1; --d)
    if (extent % d == 0) return d;
  return 1;
}

// Threads for `results`, whole warps.
std::int64_t threadsFor(std::int64_t results, std::int64_t most) {
  return std::clamp<std::int64_t>((results + 31) / 32 * 32, 32, most);
}

}  // namespace

DeviceTile chooseDeviceTile(const KernelShape& shape) {
  for (const Strategy* strategy : strategies())
    if (strategy->deviceTile)
      if (auto tile = strategy->deviceTile(shape)) return *tile;
  const DeviceTileRule& rule = tileRuleOf(shape.kind);
  DeviceTile result{{{}, rule.name, rule.reason}, rule.threads};
  std::vector<std::int64_t>& sizes = result.tile.sizes;
  for (const LoopInfo& loop : shape.loops) sizes.push_back(loop.extent);
  const std::size_t rank = sizes.size();
  auto cut = [&](std::size_t i, std::int64_t most) {
    const LoopInfo& loop = shape.loops[i];
    if (!loop.divisible) return;
    most = std::max<std::int64_t>(1, most);
    sizes[i] = loop.symbolic ? std::min(sizes[i], most) : divisor(loop.extent, most);
  };
  for (std::size_t i = 0; i < rank; ++i)
    if (const std::int64_t most = rule.most[std::min<std::size_t>(rank - 1 - i, 2)]) cut(i, most);
  // From the outside in, until a block has as many results as it should.
  for (std::size_t i = 0; i < rank && product(sizes) > rule.results; ++i) {
    const std::int64_t rest = product(sizes) / std::max<std::int64_t>(1, sizes[i]);
    cut(i, std::min(sizes[i], rule.results / std::max<std::int64_t>(1, rest)));
  }
  result.threads = threadsFor(product(sizes), rule.threads);
  return result;
}

DeviceShare chooseDeviceShare(std::int64_t points, std::int64_t workPerPoint) {
  // A long reduction per result: as many blocks as there can be.
  constexpr std::int64_t kLong = 64, kMany = 1 << 18;
  const bool spread = workPerPoint >= kLong || (points > 0 && points < kMany);
  const std::int64_t threads = points > 0 ? threadsFor(points, spread ? 128 : 256) : 256;
  if (spread)
    return {threads, threads, "device spread", "one result per thread, so that many blocks share the work"};
  return {threads, 4 * threads, "device share",
          "four results per thread, dealt out so that accesses are coalesced"};
}

}  // namespace kiln::schedule
