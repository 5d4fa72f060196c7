#include "compiler_core/runtime/elf/elf_check.h"

#include <elf.h>

#include <algorithm>
#include <string>

#include "compiler_core/runtime/elf/elf_view.h"

namespace kiln::runtime {
namespace {

// What lld aligns to: x86-64 has pages of the first size, AArch64 up to the second.
constexpr std::uint64_t kPage = 4096, kLargePage = 65536;
constexpr std::uint64_t kMaxSpan = std::uint64_t{1} << 30;
constexpr std::uint16_t kMaxSegments = 64;

std::string machineName(std::uint16_t machine) {
  if (machine == EM_X86_64) return "x86-64";
  if (machine == EM_AARCH64) return "AArch64";
  if (machine == EM_RISCV) return "RISC-V";
  return "machine " + std::to_string(machine);
}

Result<Elf64_Ehdr> checkHeader(const ElfView& view, ElfMachine machine) {
  const auto header = view.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return badElf("it is no ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64) return badElf("it is not 64-bit");
  if (header->e_ident[EI_DATA] != ELFDATA2LSB) return badElf("it is not little-endian");
  if (header->e_ident[EI_VERSION] != EV_CURRENT || header->e_version != EV_CURRENT)
    return badElf("unknown ELF version");
  if (header->e_ident[EI_OSABI] == ELFOSABI_GNU)
    return badElf("it has indirect functions (IFUNC) or unique symbols (EI_OSABI)");
  if (std::any_of(header->e_ident + EI_OSABI, header->e_ident + EI_NIDENT,
                  [](auto byte) { return byte != 0; })) {
    return badElf("it is for another operating system (EI_OSABI, EI_ABIVERSION)");
  }
  if (header->e_type != ET_DYN)
    return badElf("it is no shared object (e_type " + std::to_string(header->e_type) + ")");
  if (header->e_machine != static_cast<std::uint16_t>(machine)) {
    return fail(Code::kUnimplemented, "the program is for " + machineName(header->e_machine) +
                                          ", this machine is " +
                                          machineName(static_cast<std::uint16_t>(machine)) +
                                          "; build the model for a target of this machine");
  }
  if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 || header->e_phnum > kMaxSegments ||
      header->e_phoff != sizeof(Elf64_Ehdr)) {
    return badElf("its program headers are malformed");
  }
  return *header;
}

// A PT_LOAD: readable, never both writable and executable, inside the file, page-congruent, above its
// predecessor. The first one is the file's beginning, with the headers that the loader keeps using.
Status checkLoad(const ElfView& view, const Elf64_Phdr& load) {
  if ((load.p_flags & PF_W) != 0 && (load.p_flags & PF_X) != 0) {
    return badElf("it has memory that is both writable and executable");
  }
  if (load.p_flags != PF_R && load.p_flags != (PF_R | PF_X) && load.p_flags != (PF_R | PF_W))
    return badElf("a segment has the unexpected access rights " + std::to_string(load.p_flags) +
                  " (p_flags)");
  if (load.p_filesz > load.p_memsz || load.p_offset > view.size() ||
      load.p_filesz > view.size() - load.p_offset) {
    return badElf("a segment is outside the file; the file may be truncated");
  }
  if (load.p_memsz == 0 || load.p_memsz > kMaxSpan || load.p_vaddr > kMaxSpan)
    return badElf("a segment has no sane size");
  if ((load.p_align != kPage && load.p_align != kLargePage) ||
      load.p_vaddr % load.p_align != load.p_offset % load.p_align) {
    return badElf("a segment is not aligned to pages");
  }
  if (view.loads().empty()) {
    if (load.p_vaddr != 0 || load.p_offset != 0 || load.p_flags != PF_R)
      return badElf("its first segment is not the file's beginning, only to be read");
    return {};
  }
  const Elf64_Phdr& last = view.loads().back();
  if (load.p_align != last.p_align) return badElf("its segments are aligned to pages of different sizes");
  const std::uint64_t page = load.p_align;
  const std::uint64_t end = (last.p_vaddr + last.p_memsz + page - 1) / page * page;
  if (load.p_vaddr / page * page < end) return badElf("two segments share a page or are out of order");
  return {};
}

// Each of these types at most once.
struct Headers {
  std::optional<Elf64_Phdr> headers, dynamic, stack, relro, attributes;
};

Status keepOnly(std::optional<Elf64_Phdr>& kept, const Elf64_Phdr& entry) {
  if (kept) return badElf("it has two headers of type " + std::to_string(entry.p_type));
  kept = entry;
  return {};
}

tl::unexpected<Error> unexpected(const Elf64_Phdr& entry) {
  return badElf("it has the unexpected segment type " + std::to_string(entry.p_type));
}

// What a program never has is refused even if nobody needs it: the loader reads notes and properties too,
// without asking whether they end where their segment does.
Result<Headers> readHeaders(ElfView& view, const Elf64_Ehdr& header, ElfMachine machine) {
  Headers found;
  for (std::uint16_t i = 0; i < header.e_phnum; ++i) {
    const auto entry = view.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!entry) return badElf("its program headers are outside the file");
    switch (entry->p_type) {
      case PT_LOAD:
        KILN_TRY(checkLoad(view, *entry));
        view.addLoad(*entry);
        break;
      case PT_PHDR:
        KILN_TRY(keepOnly(found.headers, *entry));
        break;
      case PT_DYNAMIC:
        KILN_TRY(keepOnly(found.dynamic, *entry));
        break;
      case PT_GNU_STACK:
        if ((entry->p_flags & PF_X) != 0) return badElf("it asks for an executable stack");
        KILN_TRY(keepOnly(found.stack, *entry));
        break;
      case PT_GNU_RELRO:
        KILN_TRY(keepOnly(found.relro, *entry));
        break;
      case PT_RISCV_ATTRIBUTES:  // what the code was compiled for, in a part of the file that is not loaded
        if (machine != ElfMachine::kRiscV) return unexpected(*entry);
        KILN_TRY(keepOnly(found.attributes, *entry));
        break;
      case PT_TLS:
        return badElf("it has thread-local storage (PT_TLS)");
      case PT_INTERP:
        return badElf("it names an interpreter (PT_INTERP)");
      default:
        return unexpected(*entry);
    }
  }
  if (view.loads().empty()) return badElf("it has nothing to load");
  if (!found.headers) return badElf("it does not say where its program headers are (PT_PHDR)");
  if (!found.dynamic) return badElf("it has no dynamic section");
  if (!found.stack) return badElf("it does not say that its stack is not executable (PT_GNU_STACK)");
  return found;
}

bool inSegment(const ElfView& view, std::uint64_t address, std::uint64_t bytes, bool writable) {
  return std::any_of(view.loads().begin(), view.loads().end(), [&](const Elf64_Phdr& load) {
    return (!writable || (load.p_flags & PF_W) != 0) && address >= load.p_vaddr && bytes <= load.p_memsz &&
           address - load.p_vaddr <= load.p_memsz - bytes;
  });
}

// Headers that the loader follows to their addresses. It writes to the dynamic section.
Status checkPlaces(const ElfView& view, const Elf64_Ehdr& header, const Headers& headers) {
  const auto check = [&](const Elf64_Phdr& entry, bool writable) -> Status {
    if (!inSegment(view, entry.p_vaddr, entry.p_memsz, writable) ||
        view.offsetOf(entry.p_vaddr, entry.p_filesz) != entry.p_offset) {
      return badElf("a header of type " + std::to_string(entry.p_type) + " points outside its segments");
    }
    return {};
  };
  KILN_TRY(check(*headers.headers, false));
  KILN_TRY(check(*headers.dynamic, true));
  if (headers.relro) KILN_TRY(check(*headers.relro, true));
  // The first segment begins at the file's start: addresses are offsets there.
  const Elf64_Phdr& own = *headers.headers;
  if (own.p_vaddr != header.e_phoff || own.p_memsz < header.e_phnum * sizeof(Elf64_Phdr) ||
      !view.isConstant(own.p_vaddr, own.p_memsz)) {
    return badElf("PT_PHDR is not where the program headers are");
  }
  const Elf64_Phdr& section = *headers.dynamic;
  if (section.p_flags != (PF_R | PF_W) || section.p_vaddr % alignof(Elf64_Dyn) != 0 ||
      section.p_filesz != section.p_memsz) {
    return badElf("its dynamic section is not writable, not aligned or not in the file");
  }
  return {};
}

struct RelocationTypes {
  std::uint32_t relative, indirect;
};
RelocationTypes typesOf(ElfMachine machine) {
  switch (machine) {
    case ElfMachine::kX8664:
      return {R_X86_64_RELATIVE, R_X86_64_IRELATIVE};
    case ElfMachine::kAArch64:
      return {R_AARCH64_RELATIVE, R_AARCH64_IRELATIVE};
    case ElfMachine::kRiscV:
      return {R_RISCV_RELATIVE, R_RISCV_IRELATIVE};
  }
  return {};
}

Status checkRelocations(const ElfView& view, const ElfDynamic& dynamic, const Elf64_Phdr& section,
                        ElfMachine machine) {
  const RelocationTypes types = typesOf(machine);
  const std::uint64_t end = view.loads().back().p_vaddr + view.loads().back().p_memsz;
  for (std::uint64_t offset = 0; offset < dynamic.relocationBytes; offset += sizeof(Elf64_Rela)) {
    const auto entry = view.atAddress<Elf64_Rela>(dynamic.relocations + offset);
    if (!entry) return badElf("its relocations are outside the file");
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry->r_info));
    if (type == types.indirect) return badElf("it has indirect functions (IFUNC)");
    if (type != types.relative || ELF64_R_SYM(entry->r_info) != 0) {
      return badElf("it has a relocation of type " + std::to_string(type) +
                    "; only relative ones are accepted (link with -Bsymbolic)");
    }
    if (!inSegment(view, entry->r_offset, 8, true))
      return badElf("a relocation is outside its writable segments");
    if (entry->r_offset + 8 > section.p_vaddr && entry->r_offset < section.p_vaddr + section.p_memsz)
      return badElf("a relocation changes the dynamic section");
    if (static_cast<std::uint64_t>(entry->r_addend) > end)
      return badElf("a relocation points outside the program");
  }
  if (dynamic.relativeRelocations != dynamic.relocationBytes / sizeof(Elf64_Rela))
    return badElf("its DT_RELACOUNT is not the number of its relocations");
  return {};
}

Result<std::uint64_t> checkSymbols(const ElfView& view, const ElfDynamic& dynamic, std::string_view wanted,
                                   std::uint64_t wantedBytes) {
  KILN_ASSIGN(const std::uint64_t count, countSymbols(view, dynamic));
  std::uint64_t found = 0;
  for (std::uint64_t i = 1; i < count; ++i) {
    const auto symbol = view.atAddress<Elf64_Sym>(dynamic.symbols + i * sizeof(Elf64_Sym));
    if (!symbol) return badElf("its symbols are outside the file");
    if (symbol->st_name >= dynamic.stringBytes) return badElf("a symbol's name is outside the file");
    const auto name = view.stringAt(dynamic.strings + symbol->st_name);
    if (!name) return badElf("a symbol's name is outside the file or too long");
    if (symbol->st_shndx == SHN_UNDEF) return badElf("the symbol " + *name + " is undefined");
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (type == STT_GNU_IFUNC) return badElf(*name + " is an indirect function (IFUNC)");
    if (type == STT_TLS) return badElf(*name + " is thread-local");
    if (*name == wanted && type == STT_OBJECT && symbol->st_size >= wantedBytes) found = symbol->st_value;
  }
  if (found == 0) return badElf("it does not export the data symbol " + std::string(wanted));
  return found;
}

}  // namespace

ElfMachine hostMachine() {
#if defined(__x86_64__)
  return ElfMachine::kX8664;
#elif defined(__aarch64__)
  return ElfMachine::kAArch64;
#elif defined(__riscv) && __riscv_xlen == 64
  return ElfMachine::kRiscV;
#else
#error "the runtime serves x86-64, AArch64 and 64-bit RISC-V"
#endif
}

bool ElfImage::contains(std::uint64_t address, std::uint64_t bytes, bool executable) const {
  return std::any_of(segments.begin(), segments.end(), [&](const ElfSegment& segment) {
    return (!executable || segment.executable) && address >= segment.address && bytes <= segment.bytes &&
           address - segment.address <= segment.bytes - bytes;
  });
}

Result<ElfImage> checkElf(Bytes file, ElfMachine machine, std::string_view symbol,
                          std::uint64_t symbolBytes) {
  ElfView view(file);
  KILN_ASSIGN(const Elf64_Ehdr header, checkHeader(view, machine));
  KILN_ASSIGN(const Headers headers, readHeaders(view, header, machine));
  KILN_TRY(checkPlaces(view, header, headers));
  KILN_ASSIGN(const ElfDynamic dynamic, readDynamic(view, *headers.dynamic));
  ElfImage image;
  for (const Elf64_Phdr& load : view.loads()) {
    image.segments.push_back(
        {load.p_vaddr, load.p_memsz, (load.p_flags & PF_W) != 0, (load.p_flags & PF_X) != 0});
  }
  KILN_ASSIGN(image.symbolAddress, checkSymbols(view, dynamic, symbol, symbolBytes));
  KILN_TRY(checkRelocations(view, dynamic, *headers.dynamic, machine));
  if (image.symbolAddress % 8 != 0 || !image.contains(image.symbolAddress, symbolBytes, false)) {
    return badElf(std::string(symbol) + " is outside its segments");
  }
  return image;
}

}  // namespace kiln::runtime
