#include "api/diff/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

namespace kiln::diff {
namespace {

constexpr std::size_t kMaxSections = 65535;
constexpr std::size_t kMaxSymbols = 4'000'000;

tl::unexpected<Error> malformed(const char* what) {
  return fail(Code::kInvalidArgument, std::string("not a well-formed ELF: ") + what);
}

// Record number `index` of a table that begins at `offset`.
template <class Record>
std::optional<Record> recordAt(std::string_view bytes, std::uint64_t offset, std::uint64_t index) {
  if (offset > bytes.size() || index >= (bytes.size() - offset) / sizeof(Record)) return {};
  Record record;
  std::memcpy(&record, bytes.data() + offset + index * sizeof(Record), sizeof record);
  return record;
}

std::optional<std::string> nameAt(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::size_t end = table.find('\0', offset);
  if (end == std::string_view::npos) return {};
  return std::string(table.substr(offset, end - offset));
}

Result<std::vector<Elf64_Shdr>> sectionHeaders(std::string_view file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> out;
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMaxSections)
    return malformed("its section table");
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = recordAt<Elf64_Shdr>(file, header.e_shoff, i);
    if (!section) return malformed("its section table ends early");
    out.push_back(*section);
  }
  return out;
}

Result<std::string_view> bytesOf(std::string_view file, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) return std::string_view();
  if (section.sh_offset > file.size() || section.sh_size > file.size() - section.sh_offset)
    return malformed("a section lies outside the file");
  return file.substr(section.sh_offset, section.sh_size);
}

Status readSymbols(const Elf64_Shdr& table, std::size_t index, Elf& elf) {
  const std::string_view bytes = elf.sections[index].bytes;
  if (table.sh_link >= elf.sections.size()) return malformed("a symbol table without names");
  const std::string_view names = elf.sections[table.sh_link].bytes;
  const std::uint64_t count = bytes.size() / sizeof(Elf64_Sym);
  if (count > kMaxSymbols) return malformed("too many symbols");
  for (std::uint64_t i = 1; i < count; ++i) {
    const Elf64_Sym symbol = *recordAt<Elf64_Sym>(bytes, 0, i);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= elf.sections.size() || symbol.st_size == 0)
      continue;
    auto name = nameAt(names, symbol.st_name);
    if (!name) return malformed("a symbol's name has no end");
    elf.symbols.push_back({std::move(*name), symbol.st_value, symbol.st_size, symbol.st_shndx,
                           ELF64_ST_TYPE(symbol.st_info) == STT_FUNC});
  }
  return {};
}

}  // namespace

const ElfSection* Elf::section(std::string_view name) const {
  const auto found = std::ranges::find(sections, name, &ElfSection::name);
  return found == sections.end() ? nullptr : &*found;
}

const ElfSymbol* Elf::symbolAt(std::size_t section, std::uint64_t offset) const {
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.section != section || symbol.address < sections[section].address) continue;
    const std::uint64_t begin = symbol.address - sections[section].address;
    if (offset >= begin && offset - begin < symbol.size) return &symbol;
  }
  return nullptr;
}

Result<Elf> readElf(std::string_view file) {
  const auto header = recordAt<Elf64_Ehdr>(file, 0, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return malformed("its magic number");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return malformed("it is not 64-bit little-endian");
  KILN_ASSIGN(const std::vector<Elf64_Shdr> headers, sectionHeaders(file, *header));
  Elf elf;
  for (const Elf64_Shdr& section : headers) {
    KILN_ASSIGN(const std::string_view bytes, bytesOf(file, section));
    elf.sections.push_back({{}, section.sh_type, section.sh_addr, bytes});
  }
  if (header->e_shstrndx >= elf.sections.size()) return malformed("its sections have no names");
  const std::string_view names = elf.sections[header->e_shstrndx].bytes;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    auto name = nameAt(names, headers[i].sh_name);
    if (!name) return malformed("a section's name has no end");
    elf.sections[i].name = std::move(*name);
  }
  // The full table where there is one, else what is exported.
  for (const std::uint32_t wanted : {SHT_SYMTAB, SHT_DYNSYM})
    for (std::size_t i = 0; i < headers.size() && elf.symbols.empty(); ++i)
      if (headers[i].sh_type == wanted) KILN_TRY(readSymbols(headers[i], i, elf));
  std::ranges::sort(elf.symbols, [](const ElfSymbol& a, const ElfSymbol& b) {
    return std::tie(a.section, a.address, a.name) < std::tie(b.section, b.address, b.name);
  });
  return elf;
}

}  // namespace kiln::diff
