#include "manifest/elf/elf_sections.h"

namespace kiln {
namespace {

constexpr std::uint64_t kMaxSections = 1 << 20;

tl::unexpected<Error> bad(const char* what) {
  return fail(Code::kDataLoss, what);
}

}  // namespace

std::optional<std::string_view> textAt(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const std::size_t end = table.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return table.substr(offset, end - offset);
}

std::optional<std::string_view> ElfSections::nameOf(const ElfSection& section) const {
  return names < sections.size() ? textAt(sections[names].bytes, section.header.sh_name) : std::nullopt;
}

Result<ElfSections> readElfSections(std::string_view file) {
  const auto header = recordAt<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return bad("its magic number");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return bad("it is not 64-bit little-endian");
  if (header->e_shentsize != sizeof(Elf64_Shdr)) return bad("its section table");
  ElfSections out;
  out.header = *header;
  out.names = header->e_shstrndx;
  std::uint64_t count = header->e_shnum;
  if (header->e_shoff > file.size()) return bad("its section table lies outside the file");
  // What does not fit into the header's 16 bits stands in the first section.
  if (const auto first = recordAt<Elf64_Shdr>(file, header->e_shoff); first && header->e_shoff != 0) {
    if (count == 0) count = first->sh_size;
    if (out.names == SHN_XINDEX) out.names = first->sh_link;
  }
  if (count > kMaxSections || count > (file.size() - header->e_shoff) / sizeof(Elf64_Shdr))
    return bad("its section table ends early");
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Shdr section = *recordAt<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr));
    std::string_view bytes;
    if (section.sh_type != SHT_NOBITS) {
      if (section.sh_offset > file.size() || section.sh_size > file.size() - section.sh_offset)
        return bad("a section lies outside the file");
      if (section.sh_type != SHT_NULL) bytes = file.substr(section.sh_offset, section.sh_size);
    }
    out.sections.push_back({section, bytes});
  }
  return out;
}

}  // namespace kiln
