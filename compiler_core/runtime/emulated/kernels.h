// The kernels of a cubin, compiled for the CPU, found by the cubin's digest.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/emulated/emulated_abi.h"
#include "manifest/base/result.h"

namespace kiln::emulated {

// The size of an ELF image in memory, from its own headers; 0 for what is no 64-bit little-endian ELF file.
// As a driver, this trusts that all of the image is there.
std::uint64_t elfBytes(const void* image);

// Immutable; stays loaded.
class KernelFile {
 public:
  // FOLDER/<hex sha256 of the image>.so of the first folder that has it. kDataLoss for what is no image,
  // kNotFound naming the file that is wanted, kInternal for one that cannot be used.
  static Result<std::shared_ptr<const KernelFile>> load(const void* image,
                                                        const std::vector<std::string>& folders);

  // Null when there is none of that name.
  const kiln_emulated_entry* find(const std::string& name) const;

 private:
  explicit KernelFile(const kiln_emulation& table) : table_(table) {}
  const kiln_emulation& table_;
};

}  // namespace kiln::emulated
