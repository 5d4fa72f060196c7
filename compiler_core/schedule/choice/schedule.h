// The schedule of a kernel, which says how it is cut and written: a schedule is a value for each knob of its
// template (the kind of kernel, on a processor or on a device). The heuristics give the default, tuning
// entries may give another one; the IR carries it in kiln.kernel (kernel_info.h), the manifest prints it. No
// schedule changes the bits of what a kernel computes: numerics fix the order of every sum. Where
// numerics.reassociation is "on", the default still adds in that order, and other schedules may add in orders
// of their own.
//
// To add a knob: a name below; what it does where the code is written (BlockOptions for the block emitter);
// its default in knobs.cc `defaultSchedule`, for which nothing may change while the knob has its default; its
// legal values and those worth trying in knobs.cc `knobsOf`. Signatures, JSON, entries, refusals and the
// tuner follow from that.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/schedule/choice/heuristics.h"
#include "manifest/base/result.h"
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
// For a convolution of 3x3: results of a tile along a dimension that Winograd's transforms make, 2 or 4; 0:
// none, every result is the sum of its products. Other sums, so only where numerics.reassociation is "on";
// the weights then lie in the artifact in the Winograd domain (winograd_tiles.h).
inline constexpr std::string_view kWinogradKnob = "winograd";
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

// Scalar operations of one run of the kernel, estimated.
double workOf(const KernelShape& shape);

// The template's name: "contraction", "convolution", "depthwise", "attention", "reduction", "elementwise".
std::string_view templateOf(KernelKind kind);

struct Knob {
  std::string name;
  // Worth trying, the default's first, each once. All of them are legal; those of a device's operations whose
  // results share nothing, and of "winograd", with some value of the other knobs. A schedule may have others.
  std::vector<std::vector<std::int64_t>> values;
};

// The default, with the row of the table that decided.
struct Chosen {
  Schedule schedule;
  std::string_view rule, reason;
};
Chosen defaultSchedule(const Site& site);

// The knobs that the template has for this shape, by name. A pure function, as the default is.
std::vector<Knob> knobsOf(const Site& site);

// kInvalidArgument names the knob: one that the template does not have or that is missing, or a value outside
// of its range. kUnimplemented: one that numerics do not allow.
Status check(const Schedule& schedule, const Site& site);

}  // namespace kiln::schedule
