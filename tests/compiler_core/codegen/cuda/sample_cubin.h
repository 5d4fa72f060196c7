// Bytes laid out as ptxas lays out a cubin, with what readCubin looks at; for tests.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace kiln::testing {

struct SampleKernel {
  std::string name;
  std::uint32_t registers = 0, frame = 0, stack = 0, shared = 0, threads = 0;
  std::uint32_t code = 128;
};

class SampleCubin {
 public:
  // reservedShared: sections as from compute capability 9.0 on.
  SampleCubin(const std::vector<SampleKernel>& kernels, bool reservedShared) {
    add("", SHT_NULL, "");
    std::string strings(1, '\0'), symbols(sizeof(Elf64_Sym), '\0'), info;
    std::uint32_t number = 0;
    for (const SampleKernel& kernel : kernels) {
      Elf64_Sym symbol{};
      symbol.st_name = static_cast<Elf64_Word>(strings.size());
      strings += kernel.name + '\0';
      symbols.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
      ++number;
      info += record(0x2f, {number, kernel.registers}) + record(0x11, {number, kernel.frame}) +
              record(0x12, {number, kernel.stack});
    }
    add(".note.nv.cuinfo", SHT_NOTE, versionNote(130));
    add(".strtab", SHT_STRTAB, strings);
    add(".symtab", SHT_SYMTAB, symbols, 0, 2);
    add(".nv.info", SHT_LOPROC, info, 0, kSymbols);
    for (const SampleKernel& kernel : kernels) {
      add(".text." + kernel.name, SHT_PROGBITS, std::string(kernel.code, 'x'));
      // A value of 8 bits, one of 16, then what is looked for.
      std::string own = std::string("\x02\x4c\x01\x00\x03\x19\x10\x00", 8);
      if (kernel.threads) own += record(0x10, {kernel.threads, 1, 1});
      add(".nv.info." + kernel.name, SHT_LOPROC, own, 0, kSymbols);
      if (kernel.shared) add(".nv.shared." + kernel.name, SHT_NOBITS, "", kernel.shared);
    }
    if (reservedShared) add(".nv.shared.reserved.0", SHT_NOBITS, "");
  }

  static constexpr std::uint32_t kSymbols = 3;  // the section

  // Of CUDA 13.0 for 130.
  static std::string versionNote(std::uint16_t version) {
    std::string bytes("\x0c\0\0\0\x08\0\0\0\xe8\x03\0\0NVIDIA Corp\0\x02\0\x5a\0", 28);
    bytes.append(reinterpret_cast<const char*>(&version), sizeof version);
    return bytes + std::string(2, '\0');
  }

  static std::string record(std::uint8_t attribute, const std::vector<std::uint32_t>& words) {
    std::string bytes{4, static_cast<char>(attribute)};
    const auto size = static_cast<std::uint16_t>(words.size() * 4);
    bytes.append(reinterpret_cast<const char*>(&size), 2);
    bytes.append(reinterpret_cast<const char*>(words.data()), size);
    return bytes;
  }

  std::uint32_t add(const std::string& name, std::uint32_t type, const std::string& contents,
                    std::uint64_t size = 0, std::uint32_t link = 0) {
    Elf64_Shdr header{};
    header.sh_type = type;
    header.sh_size = type == SHT_NOBITS ? size : contents.size();
    header.sh_link = link;
    sections_.push_back({name, contents, header});
    return static_cast<std::uint32_t>(sections_.size() - 1);
  }

  Elf64_Shdr& header(std::size_t section) { return sections_[section].header; }
  void rename(std::size_t section, const std::string& name) { sections_[section].name = name; }

  std::string bytes() const {
    auto sections = sections_;
    std::string names(1, '\0'), file(sizeof(Elf64_Ehdr), '\0');
    sections.push_back({".shstrtab", "", {}});
    for (Section& section : sections) {
      section.header.sh_name = static_cast<Elf64_Word>(names.size());
      names += section.name + '\0';
    }
    sections.back().contents = names;
    sections.back().header.sh_type = SHT_STRTAB;
    sections.back().header.sh_size = names.size();
    for (Section& section : sections) {
      if (section.header.sh_offset == 0) section.header.sh_offset = file.size();
      file += section.contents;
    }
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = 190;
    header.e_shoff = file.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections.size());
    header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
    std::memcpy(file.data(), &header, sizeof header);
    for (const Section& section : sections)
      file.append(reinterpret_cast<const char*>(&section.header), sizeof section.header);
    return file;
  }

 private:
  struct Section {
    std::string name, contents;
    Elf64_Shdr header;
  };
  std::vector<Section> sections_;
};

}  // namespace kiln::testing
