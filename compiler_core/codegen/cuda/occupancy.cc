#include "compiler_core/codegen/cuda/occupancy.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr DeviceLimits kDevices[] = {
    {"sm_80", 64, 32, 65536, 164 << 10},
    {"sm_90a", 64, 32, 65536, 228 << 10},
    {"sm_100a", 64, 32, 65536, 228 << 10},
};

constexpr std::uint64_t kWarp = 32, kRegisterUnit = 256, kSharedUnit = 128, kSystemShared = 1024;

std::uint64_t roundUp(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

const DeviceLimits* deviceLimits(std::string_view arch) {
  const auto found = std::ranges::find(kDevices, arch, &DeviceLimits::arch);
  return found == std::end(kDevices) ? nullptr : &*found;
}

std::uint32_t occupancyPermille(const DeviceLimits& limits, std::uint32_t threads, std::uint32_t registers,
                                std::uint32_t sharedBytes) {
  const std::uint64_t warps = roundUp(std::max(threads, 1u), kWarp) / kWarp;
  const std::uint64_t perWarp = roundUp(std::max(registers, 1u) * kWarp, kRegisterUnit);
  const std::uint64_t shared = roundUp(sharedBytes + kSystemShared, kSharedUnit);
  const std::uint64_t blocks = std::min({static_cast<std::uint64_t>(limits.blocks), limits.warps / warps,
                                         limits.registers / perWarp / warps, limits.sharedBytes / shared});
  return static_cast<std::uint32_t>(blocks * warps * 1000 / limits.warps);
}

}  // namespace kiln::codegen
