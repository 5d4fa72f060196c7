// The dynamic section and the symbol hash tables.
#include "compiler_core/runtime/elf/elf_view.h"

namespace kiln::runtime {
namespace {

// Why a tag is refused, for those that have a name; any other unlisted tag is refused by number.
std::string_view refusal(std::int64_t tag) {
  switch (tag) {
    case DT_NEEDED:
      return "it depends on a library (DT_NEEDED)";
    case DT_INIT:
    case DT_INIT_ARRAY:
    case DT_INIT_ARRAYSZ:
    case DT_PREINIT_ARRAY:
    case DT_PREINIT_ARRAYSZ:
      return "it has constructors (DT_INIT, DT_INIT_ARRAY)";
    case DT_FINI:
    case DT_FINI_ARRAY:
    case DT_FINI_ARRAYSZ:
      return "it has destructors (DT_FINI, DT_FINI_ARRAY)";
    case DT_TEXTREL:
      return "it has text relocations (DT_TEXTREL)";
    case DT_RPATH:
    case DT_RUNPATH:
      return "it names a library search path";
    case DT_AUXILIARY:
    case DT_FILTER:
      return "it is a filter for another library";
    default:
      return {};
  }
}

// Tags without influence on loading, or checked elsewhere.
bool harmless(std::int64_t tag) {
  return tag == DT_SONAME || tag == DT_SYMBOLIC || tag == DT_PLTGOT || tag == DT_RELACOUNT ||
         tag == DT_BIND_NOW;
}

Status checkFlags(std::int64_t tag, std::uint64_t value) {
  if (tag == DT_FLAGS) {
    if ((value & DF_TEXTREL) != 0) return badElf("it has text relocations (DF_TEXTREL)");
    if ((value & DF_STATIC_TLS) != 0) return badElf("it has thread-local storage (DF_STATIC_TLS)");
    if ((value & ~std::uint64_t{DF_SYMBOLIC | DF_BIND_NOW}) != 0) return badElf("it has unknown DT_FLAGS");
  } else if ((value & ~std::uint64_t{DF_1_NOW | DF_1_NODELETE}) != 0) {
    return badElf("it has DT_FLAGS_1 beyond NOW");
  }
  return {};
}

Result<std::uint64_t> countByGnuHash(const ElfView& view, std::uint64_t table) {
  const auto word = [&](std::uint64_t index) { return view.atAddress<std::uint32_t>(table + 4 * index); };
  const auto buckets = word(0), first = word(1), bloomWords = word(2);
  if (!buckets || !first || !bloomWords) return badElf("its DT_GNU_HASH is outside the file");
  if (*bloomWords == 0 || (*bloomWords & (*bloomWords - 1)) != 0)
    return badElf("its DT_GNU_HASH is inconsistent");
  const std::uint64_t bucketsAt = 4 + 2 * std::uint64_t{*bloomWords};
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < *buckets; ++i) {
    const auto bucket = word(bucketsAt + i);
    if (!bucket) return badElf("its DT_GNU_HASH is outside the file");
    last = std::max<std::uint64_t>(last, *bucket);
  }
  if (last == 0) return *first;  // no symbol is hashed
  if (last < *first) return badElf("its DT_GNU_HASH is inconsistent");
  const std::uint64_t chainsAt = bucketsAt + *buckets;
  while (true) {  // each step reads a further word of the file, so this ends
    const auto hash = word(chainsAt + last - *first);
    if (!hash) return badElf("its DT_GNU_HASH is outside the file");
    ++last;
    if ((*hash & 1) != 0) return last;
  }
}

}  // namespace

Result<ElfDynamic> readDynamic(const ElfView& view, const Elf64_Phdr& segment) {
  ElfDynamic dynamic;
  for (std::uint64_t offset = 0;; offset += sizeof(Elf64_Dyn)) {
    const auto entry =
        offset < segment.p_memsz ? view.atAddress<Elf64_Dyn>(segment.p_vaddr + offset) : std::nullopt;
    if (!entry) return badElf("its dynamic section has no end inside the file");
    const std::uint64_t value = entry->d_un.d_val;
    switch (entry->d_tag) {
      case DT_NULL:
        return dynamic;
      case DT_SYMTAB:
        dynamic.symbols = value;
        break;
      case DT_STRTAB:
        dynamic.strings = value;
        break;
      case DT_STRSZ:
        dynamic.stringBytes = value;
        break;
      case DT_HASH:
        dynamic.hash = value;
        break;
      case DT_GNU_HASH:
        dynamic.gnuHash = value;
        break;
      case DT_RELA:
        dynamic.relocations = value;
        break;
      case DT_RELASZ:
        dynamic.relocationBytes = value;
        break;
      case DT_SYMENT:
        if (value != sizeof(Elf64_Sym)) return badElf("its symbols have an unknown size");
        break;
      case DT_RELAENT:
        if (value != sizeof(Elf64_Rela)) return badElf("its relocations have an unknown size");
        break;
      case DT_JMPREL:
      case DT_PLTREL:
      case DT_PLTRELSZ:
        dynamic.linkageTable = true;
        break;
      case DT_FLAGS:
      case DT_FLAGS_1:
        KILN_TRY(checkFlags(entry->d_tag, value));
        break;
      default:
        if (harmless(entry->d_tag)) break;
        if (const auto reason = refusal(entry->d_tag); !reason.empty()) return badElf(std::string(reason));
        return badElf("it has the unexpected dynamic tag " + std::to_string(entry->d_tag));
    }
  }
}

Result<std::uint64_t> countSymbols(const ElfView& view, const ElfDynamic& dynamic) {
  if (dynamic.symbols == 0 || dynamic.strings == 0) return badElf("it has no dynamic symbols");
  if (dynamic.hash == 0 && dynamic.gnuHash == 0) return badElf("it has no symbol hash table");
  std::uint64_t count = 0;
  if (dynamic.gnuHash != 0) {
    KILN_ASSIGN(count, countByGnuHash(view, dynamic.gnuHash));
  }
  if (dynamic.hash != 0) {
    const auto chains = view.atAddress<std::uint32_t>(dynamic.hash + 4);
    if (!chains) return badElf("its DT_HASH is outside the file");
    count = std::max<std::uint64_t>(count, *chains);
  }
  if (count > view.size() / sizeof(Elf64_Sym)) return badElf("it announces more symbols than fit the file");
  return count;
}

}  // namespace kiln::runtime
