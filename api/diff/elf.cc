#include "api/diff/elf.h"

#include <elf.h>

#include <algorithm>
#include <tuple>

#include "manifest/elf/elf_sections.h"

namespace kiln::diff {
namespace {

constexpr std::size_t kMaxSymbols = 4'000'000;
constexpr std::size_t kMaxName = 4096;
constexpr std::uint64_t kMostCovered = 16;  // times the file, by symbols

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Code::kInvalidArgument, "not a well-formed ELF: " + what);
}

// As textAt, of at most kMaxName characters.
std::optional<std::string_view> nameAt(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  return textAt(table.substr(offset, kMaxName + 1), 0);
}

Status readSymbols(const Elf64_Shdr& table, std::size_t index, std::uint64_t mostCovered, Elf& elf) {
  const std::string_view bytes = elf.sections[index].bytes;
  if (table.sh_link >= elf.sections.size()) return malformed("a symbol table without names");
  const std::string_view names = elf.sections[table.sh_link].bytes;
  const std::uint64_t count = bytes.size() / sizeof(Elf64_Sym);
  if (count > kMaxSymbols) return malformed("too many symbols");
  std::uint64_t covered = 0;
  for (std::uint64_t i = 1; i < count; ++i) {
    const Elf64_Sym symbol = *recordAt<Elf64_Sym>(bytes, i * sizeof(Elf64_Sym));
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= elf.sections.size() || symbol.st_size == 0)
      continue;
    const auto name = nameAt(names, symbol.st_name);
    if (!name) return malformed("a symbol's name has no end");
    covered += std::min<std::uint64_t>(symbol.st_size, elf.sections[symbol.st_shndx].bytes.size());
    if (covered > mostCovered) return malformed("its symbols overlap");
    elf.symbols.push_back(
        {*name, symbol.st_value, symbol.st_size, symbol.st_shndx, ELF64_ST_TYPE(symbol.st_info) == STT_FUNC});
  }
  return {};
}

}  // namespace

const ElfSection* Elf::section(std::string_view name) const {
  const auto found = std::ranges::find(sections, name, &ElfSection::name);
  return found == sections.end() ? nullptr : &*found;
}

const ElfSymbol* Elf::symbolAt(std::size_t section, std::uint64_t offset) const {
  for (const ElfSymbol& symbol : std::ranges::equal_range(symbols, section, {}, &ElfSymbol::section)) {
    if (symbol.address < sections[section].address) continue;
    const std::uint64_t begin = symbol.address - sections[section].address;
    if (offset >= begin && offset - begin < symbol.size) return &symbol;
  }
  return nullptr;
}

Result<Elf> readElf(std::string_view file) {
  const auto read = readElfSections(file);
  if (!read) return malformed(read.error().message);
  if (read->names >= read->sections.size()) return malformed("its sections have no names");
  Elf elf;
  const std::string_view names = read->sections[read->names].bytes;
  std::uint64_t held = 0;
  for (const kiln::ElfSection& section : read->sections) {
    const auto name = nameAt(names, section.header.sh_name);
    if (!name) return malformed("a section without a name");
    held += section.bytes.size();
    if (held > file.size()) return malformed("its sections overlap");
    elf.sections.push_back({*name, section.header.sh_type, section.header.sh_addr, section.bytes});
  }
  // The full table where there is one, else what is exported.
  for (const std::uint32_t wanted : {SHT_SYMTAB, SHT_DYNSYM})
    for (std::size_t i = 0; i < elf.sections.size() && elf.symbols.empty(); ++i)
      if (elf.sections[i].type == wanted)
        KILN_TRY(readSymbols(read->sections[i].header, i, kMostCovered * file.size(), elf));
  std::ranges::sort(elf.symbols, [](const ElfSymbol& a, const ElfSymbol& b) {
    return std::tie(a.section, a.address, a.name) < std::tie(b.section, b.address, b.name);
  });
  return elf;
}

}  // namespace kiln::diff
