#include "compiler_core/runtime/emulated/kernels.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "manifest/base/digest.h"

namespace kiln::emulated {
namespace {

constexpr std::uint32_t kMaxThreads = 1024, kMaxShared = 228 << 10;

Status checkTable(const kiln_emulation& table, const std::string& path) {
  if (table.abi != KILN_EMULATION_ABI)
    return fail(Code::kInternal, path + ": has version " + std::to_string(table.abi) + " of its ABI");
  for (std::uint32_t i = 0; i < table.count; ++i) {
    const kiln_emulated_entry& entry = table.entries[i];
    if (entry.name == nullptr || entry.kernel == nullptr || entry.threads == 0 || entry.threads % 32 != 0 ||
        entry.threads > kMaxThreads || entry.shared_bytes > kMaxShared || entry.parameters == nullptr ||
        std::strlen(entry.parameters) != entry.argument_count)
      return fail(Code::kInternal, path + ": entry " + std::to_string(i) + " cannot be");
  }
  return {};
}

}  // namespace

std::uint64_t elfBytes(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    return 0;
  const auto* const bytes = static_cast<const char*>(image);
  std::uint64_t end = sizeof header;
  end = std::max(end, header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize);
  end = std::max(end, header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize);
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + i * header.e_shentsize, sizeof section);
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

Result<std::shared_ptr<const KernelFile>> KernelFile::load(const void* image,
                                                           const std::vector<std::string>& folders) {
  const std::uint64_t bytes = elfBytes(image);
  if (bytes == 0) return fail(Code::kDataLoss, "the image is no 64-bit ELF file");
  const std::string name = digestOf(Bytes(static_cast<const std::uint8_t*>(image), bytes)).hex() + ".so";
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + name;
    if (::access(path.c_str(), R_OK) != 0) continue;
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) return fail(Code::kInternal, ::dlerror());
    const void* const table = ::dlsym(handle, KILN_EMULATION_SYMBOL);
    if (table == nullptr) return fail(Code::kInternal, path + ": exports no " KILN_EMULATION_SYMBOL);
    KILN_TRY(checkTable(*static_cast<const kiln_emulation*>(table), path));
    return std::shared_ptr<const KernelFile>(new KernelFile(*static_cast<const kiln_emulation*>(table)));
  }
  return fail(Code::kNotFound,
              "no " + name + " in KILN_EMULATED_KERNELS: kiln-cc compile --emulation DIR makes it");
}

const kiln_emulated_entry* KernelFile::find(const std::string& name) const {
  for (std::uint32_t i = 0; i < table_.count; ++i)
    if (name == table_.entries[i].name) return &table_.entries[i];
  return nullptr;
}

}  // namespace kiln::emulated
