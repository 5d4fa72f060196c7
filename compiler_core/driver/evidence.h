// The evidence of the later stages of a compile: deterministic, part of the Manifest. The earlier ones are in
// compiler_core/ir/evidence.h. Plain structs, for units with and without MLIR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler_core/ir/evidence.h"
#include "manifest/base/digest.h"
#include "manifest/tuning/schedule.h"

namespace kiln::driver {

// How a kernel sits on a device. What the compile of the image finds out is 0 in a dry run.
struct DeviceKernelEvidence {
  std::int64_t threads = 0;                     // of a block
  std::uint64_t sharedBytes = 0;                // of a block
  std::uint32_t registers = 0, spillBytes = 0;  // of a thread
  std::uint32_t occupancyPermille = 0;          // upper bound of the warps that a multiprocessor holds
  // Of Vulkan alone: why its f32 results may not have the bits that a processor's program gives: some of
  // "contraction", "order", "f64". Empty: they have them.
  std::optional<std::vector<std::string>> mayDiffer = std::nullopt;
};

// One kernel: what it computes and how it was cut.
struct KernelEvidence {
  std::string symbol;
  std::vector<std::string> nodes;   // source nodes, in order
  std::string rule;                 // row of the heuristic's table
  std::vector<std::int64_t> loops;  // extents of the parallel loops
  Schedule schedule;
  std::string signature;   // where the kernel can stand by itself
  std::string tuned;       // digest of the tuning entry that its schedule came from; empty: none was given
  std::string catalogued;  // digest of the entry of the toolchain's catalogue that it came from; empty: none
  std::int64_t tasks = 0;
  std::uint64_t codeBytes = 0;   // what it adds to the program; 0 in a dry run
  std::uint64_t movedBytes = 0;  // the most that its buffers take, once if read and once if written
  std::string codeOf;            // the kernel whose code it runs on its own buffers; empty: its own
  std::string target;            // of its partition, where there are several targets or a device
  std::optional<DeviceKernelEvidence> device;
};

struct ScheduleEvidence {
  std::int64_t registerBits = 0, accumulators = 0;
  bool contraction = true;
  std::vector<ir::PassEvidence> passes;  // of the lowering to LLVM, of the first profile
  std::vector<KernelEvidence> kernels;
};

// An integer that may differ between runs: dimension `index` of an input, or an element of its value.
struct SymbolEvidence {
  std::string name, input;
  std::int64_t index = 0;
  bool element = false, pad = false;
};

// The part of the arena that belongs to one target.
struct RegionEvidence {
  std::string target;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t space = 0;  // whose arena (program_abi.h)
};

// The planned memory of one profile, or of what one target runs of it.
struct MemoryPlan {
  std::uint64_t arenaBytes = 0;       // the planned peak, in the worst case
  std::uint64_t unsharedBytes = 0;    // what the arena's buffers would need without reuse
  std::uint64_t lowerBoundBytes = 0;  // the most alive at one time: no plan has a lower peak
  std::uint64_t scratchBytes = 0;     // per slot
  std::int64_t buffers = 0;
  // The most bytes alive in each of up to 64 equal parts of a run; empty for a program in several partitions.
  std::vector<std::uint64_t> aliveBytes;
};

// The memory of one profile.
struct PlanEvidence : MemoryPlan {
  std::string profile;
  std::uint64_t inputBytes = 0, outputBytes = 0, weightBytes = 0;  // held by the caller
  std::vector<RegionEvidence> regions;                             // of a program in several partitions
  std::uint64_t transferBytes = 0;              // between regions, by one run in the largest shape
  std::vector<std::uint64_t> deviceArenaBytes;  // one per device; not in arenaBytes
};

// The image of a device's kernels, as the Manifest's program.devices has it.
struct DeviceEvidence {
  std::string target, arch, path;
  Digest image;
  std::vector<std::string> kernels;
  std::string driver, computeCapability;
  bool exact = false;
};

struct CodegenEvidence {
  std::string triple, cpu;
  std::vector<std::string> features;
  std::uint64_t codeBytes = 0, programBytes = 0;
  std::vector<std::string> warnings;  // for people: what will cost time on a device
};

}  // namespace kiln::driver
