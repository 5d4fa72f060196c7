// What a way to compute kernels consists of, for whoever chooses, prices or writes them: its knobs, where it
// applies, how it is written, what it costs. One of these per room; ../registry.cc
// lists them.
// Private to the compiler core. All functions are pure but `inspect`, which says what it changes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compiler_core/schedule/knobs/cost_model.h"
#include "compiler_core/schedule/knobs/schedule.h"
#include "compiler_core/schedule/strategies/contract/tile_rule.h"

namespace mlir {
namespace linalg {
class LinalgOp;
}
}  // namespace mlir

namespace kiln::schedule {

struct DeviceForm;
struct ProcessorForm;

using Sizes = std::span<const std::int64_t>;  // of a tile, one per parallel loop

// Legal values: from `least` to `most`, both included, where `unit` divides.
struct KnobRange {
  std::int64_t least = 1, most = 1, unit = 1;
  bool holds(std::int64_t value) const { return value >= least && value <= most && value % unit == 0; }
};

// A knob that is one number.
struct KnobRule {
  std::string_view name;
  // The default, with a tile of `sizes`; nothing where kernels of the site do not have the knob. Null: of
  // devices, whose defaults are chosen with the tile.
  std::optional<std::int64_t> (*standard)(const Site& site, Sizes sizes) = nullptr;
  KnobRange (*range)(const Site& site) = nullptr;
  Sizes tried;  // worth trying beside the default, where the range holds them
  // Why a tile of `sizes` does not allow the value; "" where it does. Null: every tile allows all.
  std::string (*trouble)(std::int64_t value, Sizes sizes, const Site& site) = nullptr;
  bool triedWithDefaultTile = false;  // only values that the default's tile allows are tried
  bool reassociates = false;          // it changes the order of sums
};

// A default schedule of a strategy's own, with the reason.
struct Preferred {
  Schedule schedule;
  std::string_view rule, reason;
};

struct Strategy {
  std::span<const KnobRule> knobs = {};
  // Notes in `shape` what the strategy has to know of a contraction on tensors, part of a kernel for
  // processors. `shape` has its kind already.
  void (*inspect)(mlir::linalg::LinalgOp product, const VectorShape& registers, KernelShape& shape) = nullptr;
  // Whether a tile of `sizes` is worth trying beside the default schedule.
  bool (*keepsTile)(const Schedule& standard, Sizes sizes, const Site& site) = nullptr;
  // The default tiles of the kinds of kernels whose room this is (tile_rule.h), for processors and devices.
  std::span<const TileRule> tiles = {};
  std::span<const DeviceTileRule> deviceTiles = {};
  // The default tile on devices that no row gives; nothing for other kernels.
  std::optional<DeviceTile> (*deviceTile)(const KernelShape& shape) = nullptr;
  // What a tile's part of the row loop of a convolution is a multiple of, where the default computes it so;
  // else 0.
  std::int64_t (*rowUnit)(const KernelShape& shape) = nullptr;
  // Sizes of a tile along a loop near which others than the default's, `chosen`, are worth trying, on
  // processors and devices. Empty: whoever the registry lists behind it is asked.
  std::vector<std::int64_t> (*sizesTried)(const Site& site, std::size_t loop, std::int64_t chosen) = nullptr;
  // Why a kernel on a device cannot have a tile of `sizes`; "" where it can.
  std::string (*tileTrouble)(Sizes sizes, const Site& site) = nullptr;
  // Cycles of all tasks; nothing where the schedule does not choose the strategy.
  std::optional<double> (*cycles)(const CostInputs& inputs) = nullptr;
  // Cycles of one block of threads, on devices; nothing where the kernel is not the strategy's.
  std::optional<double> (*threadBlockCycles)(const Schedule& schedule, const Site& site) = nullptr;
  // The knob that chooses the strategy, where kernels so computed are searched apart from others. Knobs that
  // mean nothing to it (`unused`) keep the default's value then.
  std::string_view way = {};
  std::span<const std::string_view> unused = {};
  // How it is written for processors (processor_form.h) and for devices (device_form.h); null: it is not.
  const ProcessorForm* processor = nullptr;
  const DeviceForm* device = nullptr;
  // Where the default may add in any fixed order (Reassociation::kDeterministic): what it is instead of
  // `standard`, which adds in the model's; nothing where that is no gain, or too inexact. Of processors.
  std::optional<Preferred> (*preferred)(const Site& site, const Schedule& standard) = nullptr;
};

}  // namespace kiln::schedule
