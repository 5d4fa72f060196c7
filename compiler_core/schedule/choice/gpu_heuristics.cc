#include "compiler_core/schedule/choice/gpu_heuristics.h"

#include <algorithm>
#include <limits>

#include "compiler_core/schedule/strategies/gpu_product/contraction_tiles.h"

namespace kiln::schedule {
namespace {

// One row per kind of kernel. Loops are counted from the innermost; each is cut to a divisor of its extent of
// at most `most` (0: it stays whole), while the block has more than `results` of them in all.
struct LoopRule {
  std::int64_t most = 0;
};
struct Rule {
  KernelKind kind;
  std::string_view name;
  LoopRule loops[3];  // the last counts for all that are further out
  std::int64_t results, threads;
  std::string_view reason;
};

constexpr Rule kRules[] = {
    {KernelKind::kAttention,
     "device attention",
     {{0}, {16}, {1}},
     1 << 14,
     256,
     "a block keeps the scores of 16 queries; heads and images are independent"},
    {KernelKind::kReduction,
     "device rows",
     {{4096}, {64}, {64}},
     4096,
     256,
     "rows that several operations share stay in shared memory, some 4096 results per block"},
    {KernelKind::kElementwise,
     "device elementwise",
     {{1024}, {64}, {64}},
     1024,
     256,
     "four results per thread along the innermost dimension, so that accesses are coalesced"},
};

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
  if (shape.kind == KernelKind::kContraction || shape.kind == KernelKind::kConvolution ||
      shape.kind == KernelKind::kDepthwise)
    return chooseContractionTile(shape);
  const Rule& rule = *std::ranges::find(kRules, shape.kind, &Rule::kind);
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
    if (const std::int64_t most = rule.loops[std::min<std::size_t>(rank - 1 - i, 2)].most) cut(i, most);
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
