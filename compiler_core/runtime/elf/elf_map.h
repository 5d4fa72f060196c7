// A program's ELF file in memory, without the system's loader: for programs that are static themselves, such
// as kiln-cc when it tunes. Debuggers and profilers do not see what is mapped here; the runtime proper uses
// the system's loader (program/program.h).
#pragma once

#include <cstddef>
#include <string_view>

#include "compiler_core/runtime/elf/elf_check.h"

namespace kiln::runtime {

// Owns the pages. What checkElf accepts needs nothing but its segments and base-relative relocations; no page
// is both writable and executable.
class MappedElf {
 public:
  // Errors of checkElf; kResourceExhausted where the system gives no memory.
  static Result<MappedElf> map(Bytes file, std::string_view symbol, std::uint64_t symbolBytes);
  MappedElf(MappedElf&& other) noexcept;
  ~MappedElf();

  const void* symbol() const { return base_ + symbol_; }

 private:
  MappedElf(std::byte* base, std::size_t bytes, std::uint64_t symbol)
      : base_(base), bytes_(bytes), symbol_(symbol) {}
  std::byte* base_;
  std::size_t bytes_;
  std::uint64_t symbol_;
};

}  // namespace kiln::runtime
