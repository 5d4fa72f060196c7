// As much of an ELF file as telling where two of them differ takes: sections and symbols. 64-bit
// little-endian only, which is what programs are. The bytes may come from anybody.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::diff {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t address = 0;
  std::string_view bytes;  // into the file, as all names are; empty for sections without bytes (.bss)
};

struct ElfSymbol {
  std::string_view name;
  std::uint64_t address = 0, size = 0;
  std::size_t section = 0;  // index among the sections
  bool isFunction = false;
};

struct Elf {
  std::vector<ElfSection> sections;  // as the file numbers them
  std::vector<ElfSymbol> symbols;    // defined ones with a size, by address

  // The first section of this name; null if there is none. A search through all of them.
  const ElfSection* section(std::string_view name) const;
  // The symbol that covers this byte of a section; null if none does. A search through the section's symbols.
  const ElfSymbol* symbolAt(std::size_t section, std::uint64_t offset) const;
};

// `file` must outlive the result. kInvalidArgument for anything but a well-formed ELF: every offset lies in
// the file, names end within 4096 characters, at most 2^20 sections and 4 million symbols. Sections do not
// overlap, and symbols cover at most 16 times the file: comparing all of them takes a time that grows with
// the file.
Result<Elf> readElf(std::string_view file);

}  // namespace kiln::diff
