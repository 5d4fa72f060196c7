// The served devices: limits of a multiprocessor, and the occupancy of a kernel under them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln::codegen {

// The limits of one multiprocessor, from the table "Technical Specifications per Compute Capability" of
// NVIDIA's CUDA C++ Programming Guide 13.0.
struct DeviceLimits {
  std::string_view arch;
  std::uint32_t warps, blocks, registers, sharedBytes;
};

// Null for an arch that is not served.
const DeviceLimits* deviceLimits(std::string_view arch);

// Resident warps at most, in thousandths of what a multiprocessor holds; 0: the kernel does not fit.
// Registers are handed out to a warp in units of 256, shared memory to a block in units of 128 bytes with
// 1024 more for the system. A bound: what else runs, and the cache that shared memory takes, are not in it.
std::uint32_t occupancyPermille(const DeviceLimits& limits, std::uint32_t threads, std::uint32_t registers,
                                std::uint32_t sharedBytes);

}  // namespace kiln::codegen
