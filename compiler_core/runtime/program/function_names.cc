#include "compiler_core/runtime/program/function_names.h"

#include "compiler_core/runtime/elf/elf_view.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t kMaxName = 255;

// The NUL-terminated string at an offset of the string table, cut at kMaxName characters.
std::string nameAt(const ElfView& view, const Elf64_Shdr& strings, std::uint64_t offset) {
  std::string name;
  for (; offset < strings.sh_size && name.size() < kMaxName; ++offset) {
    const auto c = view.at<char>(strings.sh_offset + offset);
    if (!c || *c == '\0') break;
    name += *c >= 0x20 && *c < 0x7f ? *c : '?';
  }
  return name;
}

}  // namespace

Result<FunctionNames> readFunctionNames(Bytes file) {
  const ElfView view(file);
  const auto header = view.at<Elf64_Ehdr>(0);
  if (!header) return badElf("it has no header");
  const auto section = [&](std::uint64_t index) {
    return index < header->e_shnum && header->e_shoff <= view.size()
               ? view.at<Elf64_Shdr>(header->e_shoff + index * sizeof(Elf64_Shdr))
               : std::nullopt;
  };
  FunctionNames names;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto symbols = section(i);
    if (!symbols) return badElf("its section headers are outside the file");
    if (symbols->sh_type != SHT_SYMTAB) continue;
    const auto strings = section(symbols->sh_link);
    if (!strings || strings->sh_offset > view.size() || symbols->sh_offset > view.size() ||
        symbols->sh_size > view.size()) {
      return badElf("its symbol table is outside the file");
    }
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = view.at<Elf64_Sym>(symbols->sh_offset + at);
      if (!symbol) return badElf("its symbol table is outside the file");
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
      names.try_emplace(symbol->st_value, nameAt(view, *strings, symbol->st_name));
    }
    break;  // an ELF file has one
  }
  return names;
}

}  // namespace kiln::runtime
