// Static memory planning: buffers with lifetimes get offsets in one arena. No MLIR here.
// Algorithm: buffers are placed one after the other, each at the lowest offset that overlaps no placed buffer
// alive at the same time, in several orders (by size; by the memory alive at their birth, then size; by
// length of life; by birth; by death), and the smallest arena wins. The first two orders are those of
// Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020. Each order is then
// changed a few times: what lies at the arena's end is placed earlier.
#pragma once

#include <cstdint>
#include <vector>

namespace kiln::memory {

inline constexpr std::uint64_t kAlignment = 64;  // KILN_ALIGNMENT of the program ABI

// Alive from `first` to `last`, both inclusive, in the order of execution.
struct Buffer {
  std::uint64_t bytes = 0;
  std::uint32_t first = 0, last = 0;
};

struct Plan {
  std::vector<std::uint64_t> offsets;  // one per buffer, multiples of kAlignment
  std::uint64_t peak = 0;              // bytes of the arena
  std::uint64_t total = 0;             // what the buffers need without reuse, aligned
  std::uint64_t lowerBound = 0;        // the most bytes alive at one time, aligned: no plan has a lower peak
};

// Deterministic: equals are placed in the order given, and of equal arenas the earlier order's is taken.
Plan plan(const std::vector<Buffer>& buffers);

// The most bytes alive, aligned as in a Plan, in each of at most `points` equal parts of the time from the
// first buffer's birth to the last one's end; a part per step where there are no more steps. Empty without
// buffers.
std::vector<std::uint64_t> aliveOverTime(const std::vector<Buffer>& buffers, std::size_t points);

}  // namespace kiln::memory
