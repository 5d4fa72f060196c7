// The sections of a 64-bit little-endian ELF file that may come from anybody: every offset is checked against
// the file. It is for where LLVM's reader is not linked; compiler_core/runtime/elf checks programs before
// they are mapped, by their segments.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln {

struct ElfSection {
  Elf64_Shdr header{};
  std::string_view bytes;  // into the file; empty for sections without bytes (.bss)
};

struct ElfSections {
  Elf64_Ehdr header{};
  std::vector<ElfSection> sections;  // as the file numbers them, at most 2^20
  std::uint32_t names = 0;  // the section that has the sections' names, if there is one of this number

  // nullopt: it has none, or one without an end.
  std::optional<std::string_view> nameOf(const ElfSection& section) const;
};

// `file` must outlive the result. kDataLoss with what is wrong ("its section table ends early").
Result<ElfSections> readElfSections(std::string_view file);

// The structure at an offset, if it is inside of `bytes`.
template <class T>
std::optional<T> recordAt(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The NUL-terminated text at an offset, without the NUL.
std::optional<std::string_view> textAt(std::string_view table, std::uint64_t offset);

}  // namespace kiln
