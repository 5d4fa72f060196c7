#include "compiler_core/memory/plan.h"

#include <algorithm>
#include <numeric>

namespace kiln::memory {
namespace {

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool together(const Buffer& a, const Buffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

Plan plan(const std::vector<Buffer>& buffers) {
  Plan result;
  result.offsets.assign(buffers.size(), 0);
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  // Largest first, equals in program order: one total order, so that any sort gives the same plan.
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
  });
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t index : order) {
    const std::uint64_t size = aligned(buffers[index].bytes);
    std::uint64_t offset = 0;
    for (const std::size_t other : placed) {
      if (!together(buffers[index], buffers[other])) continue;
      if (offset + size <= result.offsets[other]) break;
      offset = std::max(offset, result.offsets[other] + aligned(buffers[other].bytes));
    }
    result.offsets[index] = offset;
    result.peak = std::max(result.peak, offset + size);
    result.total += size;
    const auto at =
        std::ranges::upper_bound(placed, offset, {}, [&](std::size_t i) { return result.offsets[i]; });
    placed.insert(at, index);
  }
  return result;
}

}  // namespace kiln::memory
