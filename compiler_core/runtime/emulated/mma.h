// Tensor-core steps of a warp, computed from the fragments that its threads hold.
#pragma once

#include <array>
#include <cstdint>

#include "compiler_core/runtime/emulated/emulated_abi.h"

namespace kiln::emulated {

inline constexpr std::uint32_t kWarp = 32;

// The registers of each thread of the warp, and where its results go.
struct WarpFragments {
  std::array<const std::uint32_t*, kWarp> in;
  std::array<std::uint32_t*, kWarp> out;
};

// D = A * B + C as mma.sync defines it (PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type"
// and
// "... mma.m16n8k8"), each result accumulated in f32 in ascending order of k, every product exact. False for
// a kind that there is not.
bool multiplyAccumulate(std::uint32_t kind, const WarpFragments& warp);

}  // namespace kiln::emulated
