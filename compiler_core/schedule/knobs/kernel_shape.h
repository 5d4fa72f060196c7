// The shape of a kernel, and the tile that is chosen for it: what schedules are made for. Private to the
// compiler core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace kiln::schedule {

enum class KernelKind {
  kContraction,
  kConvolution,
  kAttention,
  kReduction,
  kElementwise,
  kDepthwise,  // a convolution whose channels share nothing
};

// One parallel loop of a kernel.
struct LoopInfo {
  std::int64_t extent = 1;  // of a symbolic one the value the schedule is made for
  bool divisible = true;    // tiling it repeats no work
  bool symbolic = false;    // other extents occur as well: its last tile may be partial
};

struct KernelShape {
  KernelKind kind = KernelKind::kElementwise;
  std::vector<LoopInfo> loops;    // parallel, outermost first
  std::int64_t workPerPoint = 1;  // scalar operations per point of the parallel loops
  std::size_t window = 2;         // of a convolution: how many of the last loops are positions
  std::int64_t kernel = 1;        // of a convolution: positions that one window sees
  std::int64_t channelLanes = 0;  // of a convolution: of a panel of its weights; 0: they have no panels
  bool hasWeight = false;         // of a product: its right factor is a weight that may lie in panels
  // What strategies note of a kernel that they may compute, by the knob that chooses them: a number that the
  // strategy's room explains.
  std::map<std::string_view, std::int64_t> notes;
};

struct Tile {
  std::vector<std::int64_t> sizes;  // one per loop; divides its extent unless that is symbolic
  std::string_view rule, reason;    // the row of the table that decided
};

struct DeviceTile {
  Tile tile;                   // what one block makes
  std::int64_t threads = 256;  // of the block
};

// Whether the kernel is a sum over products.
bool isProduct(const KernelShape& shape);

// The parallel loop along which rows of a register block lie: of a product the one before the columns, of a
// convolution the channels.
std::optional<std::size_t> rowLoop(const KernelShape& shape);

// Scalar operations of one run of the kernel, estimated.
double workOf(const KernelShape& shape);

// The template's name: "contraction", "convolution", "depthwise", "attention", "reduction", "elementwise".
std::string_view templateOf(KernelKind kind);

}  // namespace kiln::schedule
