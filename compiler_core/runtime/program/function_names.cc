#include "compiler_core/runtime/program/function_names.h"

#include <algorithm>

#include "compiler_core/runtime/elf/elf_view.h"
#include "manifest/elf/elf_sections.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t kMaxName = 255;

// The NUL-terminated string at an offset of the string table, cut at kMaxName characters.
std::string nameAt(std::string_view strings, std::uint64_t offset) {
  std::string name(strings.substr(std::min<std::uint64_t>(offset, strings.size()), kMaxName));
  name.resize(std::min(name.find('\0'), name.size()));
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return name;
}

}  // namespace

Result<FunctionNames> readFunctionNames(Bytes file) {
  const auto elf = readElfSections({reinterpret_cast<const char*>(file.data()), file.size()});
  if (!elf) return badElf(elf.error().message);
  FunctionNames names;
  const auto table = std::ranges::find(elf->sections, std::uint32_t{SHT_SYMTAB},
                                       [](const ElfSection& section) { return section.header.sh_type; });
  if (table == elf->sections.end()) return names;
  if (table->header.sh_link >= elf->sections.size()) return badElf("its symbol table has no names");
  const std::string_view strings = elf->sections[table->header.sh_link].bytes;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->bytes.size(); at += sizeof(Elf64_Sym)) {
    const Elf64_Sym symbol = *recordAt<Elf64_Sym>(table->bytes, at);
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
      names.try_emplace(symbol.st_value, nameAt(strings, symbol.st_name));
  }
  return names;
}

}  // namespace kiln::runtime
