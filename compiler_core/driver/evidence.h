// What the later stages state about a compile: deterministic, part of the Manifest. The earlier ones are in
// compiler_core/ir/evidence.h. Plain structs, for units with and without MLIR.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::driver {

// One kernel: what it computes and how it was cut.
struct KernelEvidence {
  std::string symbol;
  std::vector<std::string> nodes;         // source nodes, in order
  std::string rule;                       // row of the heuristic's table
  std::vector<std::int64_t> loops, tile;  // parallel loops: extents and tile sizes
  std::int64_t tasks = 0;
  std::uint64_t codeBytes = 0;  // 0 in a dry run
  std::string target;           // of its partition, where there are several targets
};

struct ScheduleEvidence {
  std::int64_t registerBits = 0, accumulators = 0;
  bool contraction = true;
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
};

// The memory of one profile.
struct PlanEvidence {
  std::string profile;
  std::uint64_t arenaBytes = 0;       // the planned peak, in the worst case
  std::uint64_t unsharedBytes = 0;    // what the arena's buffers would need without reuse
  std::uint64_t lowerBoundBytes = 0;  // the most alive at one time: no plan has a lower peak
  std::uint64_t scratchBytes = 0;     // per slot
  std::int64_t buffers = 0;
  std::uint64_t inputBytes = 0, outputBytes = 0, weightBytes = 0;  // held by the caller
  std::vector<RegionEvidence> regions;                             // of a program in several partitions
  std::uint64_t transferBytes = 0;  // between regions, by one run in the largest shape
};

struct CodegenEvidence {
  std::string triple, cpu;
  std::vector<std::string> features;
  std::uint64_t codeBytes = 0, programBytes = 0;
};

}  // namespace kiln::driver
