// A schedule's knobs, and the site that a schedule is for: what every room below compiler_core/schedule
// reads.
// ../choice/schedule.h has the contract. Private to the compiler core.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler_core/schedule/knobs/kernel_shape.h"
#include "manifest/tuning/schedule.h"

namespace kiln::schedule {

// Sizes of a tile, one per parallel loop from the outermost. Every other knob is one number.
inline constexpr std::string_view kTileKnob = "tile";
// For a sum over products: results that a block of registers holds at most, as rows of `vectors` registers
// side by side; rows are evened out over the tile. 0: as many as the registers hold, once it is known which
// loops are one.
inline constexpr std::string_view kRowsKnob = "rows";
inline constexpr std::string_view kVectorsKnob = "vectors";
// For a sum over products along one loop: how many products are added before results go back to memory. For a
// convolution: the most steps of the sum that one copy of its window holds.
inline constexpr std::string_view kStepsKnob = "steps";
// Whether the operand of long rows is copied to panels: 0 never, 1 where that is expected to pay, 2 always;
// 3: it is a weight, and lies in panels in the artifact (weight_panels.h), so that no run copies it.
inline constexpr std::string_view kPackKnob = "pack";
inline constexpr std::int64_t kPackedWeight = 3;
// Whether a convolution becomes a product with copies of what its window sees, where it gains from that: 0
// never.
inline constexpr std::string_view kIm2colKnob = "unfold";
// What lies along the lanes of a convolution's registers: 0 neighbouring positions, 1 channels. The weights
// then lie in panels in the artifact, and the window is read where it is, without a copy.
inline constexpr std::string_view kLanesKnob = "lanes";
// Registers side by side of operations whose results share nothing.
inline constexpr std::string_view kUnrollKnob = "unroll";
// Threads of a block on a device.
inline constexpr std::string_view kThreadsKnob = "threads";

// Reads a knob that is one number; `otherwise` where the schedule does not have it.
std::int64_t numberOf(const Schedule& schedule, std::string_view knob, std::int64_t otherwise);
// Empty where the schedule does not have it.
std::span<const std::int64_t> listOf(const Schedule& schedule, std::string_view knob);
void setNumber(Schedule& schedule, std::string_view knob, std::int64_t value);
void setList(Schedule& schedule, std::string_view knob, std::vector<std::int64_t> values);

// The registers of a processor.
struct VectorShape {
  std::int64_t bits = 256;         // of one register
  std::int64_t accumulators = 12;  // registers for results in flight; the rest hold operands
  std::int64_t across = 2;         // of these side by side at least, where rows share a product's operand
  bool masks = false;              // loads and stores of part of a register cost as much as of a whole one
  bool operator==(const VectorShape&) const = default;
};

// What a template works on: a kernel, and where it runs.
struct Site {
  KernelShape shape;
  VectorShape registers;
  bool onDevice = false;
  // Nothing is shared between the results of the kernel: a device's blocks take them in order.
  bool isSingle = false;
  // Sums may be added in another order than the model's: knobs that change it exist.
  bool reassociation = false;
};

}  // namespace kiln::schedule
