// The dynamic section and the symbol hash table.
#include <array>

#include "compiler_core/runtime/elf/elf_view.h"

namespace kiln::runtime {
namespace {

// Why a tag is refused, for those that have a reason; any other is refused by number.
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
    case DT_SONAME:
      return "it has a name that other libraries would find it by (DT_SONAME)";
    case DT_HASH:
      return "it has a hash table of the old style (DT_HASH); link it with --hash-style=gnu";
    case DT_JMPREL:
    case DT_PLTREL:
    case DT_PLTRELSZ:
    case DT_PLTGOT:
      return "it has a procedure linkage table; link it with -Bsymbolic";
    case DT_AUXILIARY:
    case DT_FILTER:
      return "it is a filter for another library";
    default:
      return {};
  }
}

struct Entry {
  std::int64_t tag;
  std::string_view name;
};
// What kiln-cc's linker writes, each once. glibc takes it for granted that the partners of an entry are there
// and true: without DT_RELAENT it follows a null pointer, and it applies as many relative relocations as
// DT_RELACOUNT says, whatever DT_RELASZ is.
constexpr std::array kEntries = {
    Entry{DT_FLAGS, "DT_FLAGS"},   Entry{DT_FLAGS_1, "DT_FLAGS_1"},   Entry{DT_RELA, "DT_RELA"},
    Entry{DT_RELASZ, "DT_RELASZ"}, Entry{DT_RELAENT, "DT_RELAENT"},   Entry{DT_RELACOUNT, "DT_RELACOUNT"},
    Entry{DT_SYMTAB, "DT_SYMTAB"}, Entry{DT_SYMENT, "DT_SYMENT"},     Entry{DT_STRTAB, "DT_STRTAB"},
    Entry{DT_STRSZ, "DT_STRSZ"},   Entry{DT_GNU_HASH, "DT_GNU_HASH"},
};
using Values = std::array<std::optional<std::uint64_t>, kEntries.size()>;

std::size_t indexOf(std::int64_t tag) {
  return static_cast<std::size_t>(
      std::find_if(kEntries.begin(), kEntries.end(), [tag](const Entry& entry) { return entry.tag == tag; }) -
      kEntries.begin());
}

Result<Values> readEntries(const ElfView& view, const Elf64_Phdr& segment) {
  Values values;
  for (std::uint64_t offset = 0;; offset += sizeof(Elf64_Dyn)) {
    const auto entry =
        offset < segment.p_memsz ? view.atAddress<Elf64_Dyn>(segment.p_vaddr + offset) : std::nullopt;
    if (!entry) return badElf("its dynamic section has no end inside the file");
    if (entry->d_tag == DT_NULL) break;
    const std::size_t index = indexOf(entry->d_tag);
    if (index == kEntries.size()) {
      if (const auto reason = refusal(entry->d_tag); !reason.empty()) return badElf(std::string(reason));
      return badElf("it has the unexpected dynamic tag " + std::to_string(entry->d_tag));
    }
    if (values[index]) return badElf("it has two " + std::string(kEntries[index].name));
    values[index] = entry->d_un.d_val;
  }
  for (std::size_t i = 0; i < kEntries.size(); ++i)
    if (!values[i]) return badElf("it has no " + std::string(kEntries[i].name));
  return values;
}

Status checkFlags(std::uint64_t flags, std::uint64_t flags1) {
  if ((flags & DF_TEXTREL) != 0) return badElf("it has text relocations (DF_TEXTREL)");
  if ((flags & DF_STATIC_TLS) != 0) return badElf("it has thread-local storage (DF_STATIC_TLS)");
  if (flags != (DF_SYMBOLIC | DF_BIND_NOW)) return badElf("it has DT_FLAGS other than SYMBOLIC and BIND_NOW");
  if (flags1 != DF_1_NOW) return badElf("it has DT_FLAGS_1 other than NOW");
  return {};
}

Result<std::uint64_t> countByGnuHash(const ElfView& view, std::uint64_t table) {
  const auto word = [&](std::uint64_t index) { return view.atAddress<std::uint32_t>(table + 4 * index); };
  const auto buckets = word(0), first = word(1), bloomWords = word(2), shift = word(3);
  if (!buckets || !first || !bloomWords || !shift) return badElf("its DT_GNU_HASH is outside the file");
  if (*bloomWords == 0 || (*bloomWords & (*bloomWords - 1)) != 0 || *shift >= 32)
    return badElf("its DT_GNU_HASH is inconsistent");
  const std::uint64_t bucketsAt = 4 + 2 * std::uint64_t{*bloomWords};
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < *buckets; ++i) {
    const auto bucket = word(bucketsAt + i);
    if (!bucket) return badElf("its DT_GNU_HASH is outside the file");
    if (*bucket != 0 && *bucket < *first) return badElf("its DT_GNU_HASH is inconsistent");
    last = std::max<std::uint64_t>(last, *bucket);
  }
  if (last == 0) return badElf("its DT_GNU_HASH holds no symbol");
  const std::uint64_t chainsAt = bucketsAt + *buckets;
  for (bool ends = false; !ends; ++last) {  // each step reads a further word of the file, so this ends
    const auto hash = word(chainsAt + last - *first);
    if (!hash) return badElf("its DT_GNU_HASH is outside the file");
    ends = (*hash & 1) != 0;
  }
  if (!view.isConstant(table, 4 * (chainsAt + last - *first)))
    return badElf("its DT_GNU_HASH is outside the file or writable");
  return last;
}

}  // namespace

Result<ElfDynamic> readDynamic(const ElfView& view, const Elf64_Phdr& segment) {
  KILN_ASSIGN(const Values values, readEntries(view, segment));
  const auto of = [&](std::int64_t tag) { return *values[indexOf(tag)]; };
  KILN_TRY(checkFlags(of(DT_FLAGS), of(DT_FLAGS_1)));
  const ElfDynamic dynamic{of(DT_SYMTAB), of(DT_STRTAB), of(DT_STRSZ),    of(DT_GNU_HASH),
                           of(DT_RELA),   of(DT_RELASZ), of(DT_RELACOUNT)};
  if (of(DT_SYMENT) != sizeof(Elf64_Sym)) return badElf("its symbols have an unknown size");
  if (of(DT_RELAENT) != sizeof(Elf64_Rela)) return badElf("its relocations have an unknown size");
  if (dynamic.relocationBytes % sizeof(Elf64_Rela) != 0) return badElf("its relocations are malformed");
  if (!view.isConstant(dynamic.relocations, dynamic.relocationBytes))
    return badElf("its relocations are outside the file or writable");
  if (dynamic.stringBytes == 0 || !view.isConstant(dynamic.strings, dynamic.stringBytes))
    return badElf("its names are outside the file or writable");
  if (view.atAddress<char>(dynamic.strings + dynamic.stringBytes - 1) != '\0')
    return badElf("its names do not end with NUL");
  return dynamic;
}

Result<std::uint64_t> countSymbols(const ElfView& view, const ElfDynamic& dynamic) {
  KILN_ASSIGN(const std::uint64_t count, countByGnuHash(view, dynamic.gnuHash));
  if (count > view.size() / sizeof(Elf64_Sym)) return badElf("it announces more symbols than fit the file");
  if (!view.isConstant(dynamic.symbols, count * sizeof(Elf64_Sym)))
    return badElf("its symbols are outside the file or writable");
  return count;
}

}  // namespace kiln::runtime
