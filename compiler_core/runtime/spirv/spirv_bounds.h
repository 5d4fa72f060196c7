// Rewrites a SPIR-V module so that its kernels reach nothing but what a launch gives them, whatever addresses
// they calculate: a kernel's memory has no descriptor that a driver could check (Vulkan's robust buffer
// access does not reach addresses), so the check becomes a part of the kernel. The rule is the one of
// software fault isolation: an address outside is replaced, not reported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::spirv {

// What a launch pushes for a bounded module, in this order: the module's own two words (address of the
// argument block, first block of the dispatch), then what it may reach. Addresses and sizes in bytes. The
// words of the argument block and kBoundsTail bytes behind both spans must be the launch's as well.
struct BoundedPush {
  std::uint64_t arguments = 0, firstBlock = 0;
  std::uint64_t writable = 0, writableBytes = 0;  // read and written; at least a byte
  std::uint64_t readable = 0, readableBytes = 0;  // read only; may be empty
};
inline constexpr std::uint64_t kArgumentBlockBytes = 4000;  // 500 arguments (program_abi.h)
inline constexpr std::uint64_t kBoundsTail = 8;             // of an access that begins at a span's last byte

// The module with every access to memory by address behind a comparison: a load outside both spans reads the
// start of the writable one, and so does a store outside of that. Words of the argument block are read
// without one where the module adds a constant to the address that it was pushed. An index into an array of a
// block's memory or of a constant is at most the array's last. `bytes` must have passed check(); what has no
// form that can be bounded is kUnimplemented, naming the word: a pointer that is anything but an address
// turned into one or a part of a variable, pointers as operands of anything but loads and stores, variables
// that begin undefined, undefined values. What must never be reached returns. Time and memory in proportion
// to the module's size.
Result<std::string> bound(std::string_view bytes);

}  // namespace kiln::spirv
