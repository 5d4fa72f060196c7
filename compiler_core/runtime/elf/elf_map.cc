#include "compiler_core/runtime/elf/elf_map.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "compiler_core/runtime/elf/elf_view.h"

namespace kiln::runtime {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t upToPage(std::uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

// checkElf has looked at every header and relocation that is used here.
Result<MappedElf> MappedElf::map(Bytes file, std::string_view symbol, std::uint64_t symbolBytes) {
  KILN_ASSIGN(const ElfImage image, checkElf(file, hostMachine(), symbol, symbolBytes));
  ElfView view(file);
  const Elf64_Ehdr header = *view.at<Elf64_Ehdr>(0);
  Elf64_Phdr dynamicHeader{};
  for (std::uint16_t i = 0; i < header.e_phnum; ++i) {
    const auto entry = *view.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (entry.p_type == PT_LOAD) view.addLoad(entry);
    if (entry.p_type == PT_DYNAMIC) dynamicHeader = entry;
  }
  KILN_ASSIGN(const ElfDynamic dynamic, readDynamic(view, dynamicHeader));
  const Elf64_Phdr& last = view.loads().back();
  const std::size_t bytes = upToPage(last.p_vaddr + last.p_memsz);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fail(Code::kResourceExhausted, errnoError(errno, "memory for a program").message);
  MappedElf mapped(static_cast<std::byte*>(memory), bytes, image.symbolAddress);
  for (const Elf64_Phdr& load : view.loads())
    std::memcpy(mapped.base_ + load.p_vaddr, file.data() + load.p_offset, load.p_filesz);
  const auto base = reinterpret_cast<std::uintptr_t>(mapped.base_);
  for (std::uint64_t offset = 0; offset < dynamic.relocationBytes; offset += sizeof(Elf64_Rela)) {
    const auto entry = *view.atAddress<Elf64_Rela>(dynamic.relocations + offset);
    const std::uint64_t address = base + static_cast<std::uint64_t>(entry.r_addend);
    std::memcpy(mapped.base_ + entry.r_offset, &address, sizeof address);
  }
  for (const Elf64_Phdr& load : view.loads()) {
    const int rights = ((load.p_flags & PF_R) != 0 ? PROT_READ : 0) |
                       ((load.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                       ((load.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    const std::uint64_t from = load.p_vaddr / kPage * kPage;
    if (::mprotect(mapped.base_ + from, upToPage(load.p_vaddr + load.p_memsz) - from, rights) != 0)
      return fail(errnoError(errno, "a program's pages"));
  }
  return mapped;
}

MappedElf::MappedElf(MappedElf&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_), symbol_(other.symbol_) {}

MappedElf::~MappedElf() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

}  // namespace kiln::runtime
