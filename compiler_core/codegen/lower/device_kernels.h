// The kernels of one device over all units of a program: those that do the same are one. No MLIR.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kiln::codegen {

// Filled by kiln-outline-device-kernels, one unit after the other. Not thread safe.
struct DeviceKernels {
  std::vector<std::string> names;  // by number, as kiln_launch counts
  // Digest of a kernel's text without its name, and the number; only with `share`.
  std::map<std::array<std::uint8_t, 32>, std::uint32_t> bodies;
  bool share = true;
};

}  // namespace kiln::codegen
