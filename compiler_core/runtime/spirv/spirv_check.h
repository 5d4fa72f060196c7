// Reads a SPIR-V module as hostile bytes and accepts what Kiln's kernels are made of, before a driver sees
// it: compute kernels that reach memory through addresses alone. Format: SPIR-V specification, version 1.6,
// revision 2 (section 2.3, physical layout; 2.4, logical layout; 3, binary form).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::spirv {

struct Kernel {
  std::string name;
  std::uint32_t local[3] = {};       // threads of a block (LocalSize)
  std::uint64_t workgroupBytes = 0;  // memory that a block shares
};

struct Module {
  std::uint32_t minor = 0;                  // of version 1.minor
  std::vector<std::uint32_t> capabilities;  // each once, as the specification numbers them
  std::vector<Kernel> kernels;              // in the module's order
  std::uint64_t pushConstantBytes = 0;      // of the largest block
};

// What a module may be at most, beyond the format's own bounds.
inline constexpr std::uint64_t kMaxBytes = 64u << 20;
inline constexpr std::uint32_t kMaxBound = 4194303;  // ids; the specification's universal limit
inline constexpr std::size_t kMaxKernels = 65536, kMaxNameBytes = 256;
inline constexpr std::uint64_t kPushConstantBytes = 16;  // argument block, first block of the dispatch

// kDataLoss naming the word where it breaks the format: sizes, ids, order of sections, types, calls that come
// back to their caller. kUnimplemented naming what Kiln's kernels have no use for: another capability,
// extension, instruction, storage class, addressing or memory model; bindings; specialisation; push constants
// beyond kPushConstantBytes. Takes time and memory in proportion to the module's size. What the instructions
// calculate, and that their addresses are right, is not looked at.
Result<Module> check(std::string_view bytes);

// "Float16" of a capability that check() takes.
std::string_view capabilityName(std::uint32_t capability);

}  // namespace kiln::spirv
