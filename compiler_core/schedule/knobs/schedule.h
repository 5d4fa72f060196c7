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

// Knobs as they stand in signed records. Those of a single strategy are in its room's knobs.h.
// Sizes of a tile, one per parallel loop from the outermost. Every other knob is one number.
inline constexpr std::string_view kTileKnob = "tile";
// BlockKnobs (block_knobs.h).
inline constexpr std::string_view kRowsKnob = "rows", kVectorsKnob = "vectors", kStepsKnob = "steps",
                                  kPackKnob = "pack", kUnrollKnob = "unroll";
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

// In which order a schedule adds.
enum class Reassociation : std::uint8_t {
  kOff,            // in the model's
  kOn,             // the default in the model's, a given one in the order that it names
  kDeterministic,  // each in the order that it names, the default too
};

// What a template works on: a kernel, and where it runs.
struct Site {
  KernelShape shape;
  VectorShape registers;
  bool onDevice = false;
  // Nothing is shared between the results of the kernel: a device's blocks take them in order.
  bool isSingle = false;
  // But for kOff, knobs that change the order of sums exist. kOff on devices.
  Reassociation reassociation = Reassociation::kOff;

  bool isReassociable() const { return reassociation != Reassociation::kOff; }
};

}  // namespace kiln::schedule
