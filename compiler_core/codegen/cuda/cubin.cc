#include "compiler_core/codegen/cuda/cubin.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>

#include "manifest/elf/elf_sections.h"

namespace kiln::codegen {
namespace {

constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint32_t kMaxBytes = 1 << 24;  // of shared or local memory; no device has as much
constexpr std::uint32_t kSystemShared = 1024;

// Records of .nv.info: a format, an attribute, and a 16-bit value or the length of what follows.
constexpr std::uint8_t kFormatSized = 4;
constexpr std::uint8_t kRequiredThreads = 0x10, kFrameSize = 0x11, kStackSize = 0x12, kRegisterCount = 0x2f;

tl::unexpected<Error> bad(const std::string& what) {
  return fail(Code::kDataLoss, "not an acceptable cubin: " + what);
}

struct Section {
  std::string_view name, bytes;  // no bytes of one that takes no room in the file
  Elf64_Shdr header;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Result<Cubin> run() {
    KILN_TRY(readSections());
    for (const Section& section : sections_)
      if (section.name.starts_with(".text.")) KILN_TRY(addKernel(section));
    for (const Section& section : sections_) KILN_TRY(readFacts(section));
    if (toolkit_ == 0) return bad("it does not say which version of CUDA made it");
    Cubin cubin{{}, toolkit_};
    for (auto& [name, kernel] : kernels_) {
      if (kernel.registers == 0) return bad(fmt::format("kernel {} has no register count", name));
      cubin.kernels.push_back(std::move(kernel));
    }
    return cubin;
  }

 private:
  Status readSections() {
    const auto read = readElfSections(bytes_);
    if (!read) return bad(read.error().message);
    if (read->header.e_machine != kMachineCuda) return bad("no ELF of CUDA's");
    for (const ElfSection& section : read->sections) {
      const auto name = read->nameOf(section);
      if (!name) return bad("a section without a name");
      sections_.push_back({*name, section.bytes, section.header});
    }
    return {};
  }

  Status addKernel(const Section& text) {
    const std::string name(text.name.substr(std::strlen(".text.")));
    if (name.empty()) return bad("code without a name");
    CubinKernel kernel;
    kernel.name = name;
    kernel.codeBytes = text.bytes.size();
    if (!kernels_.emplace(name, std::move(kernel)).second) return bad("two kernels " + name);
    return {};
  }

  CubinKernel* find(std::string_view name) {
    const auto found = kernels_.find(name);
    return found == kernels_.end() ? nullptr : &found->second;
  }

  Status readFacts(const Section& section) {
    constexpr std::string_view kShared = ".nv.shared.", kInfo = ".nv.info", kKernelInfo = ".nv.info.";
    if (section.name.starts_with(kShared)) {
      CubinKernel* kernel = find(section.name.substr(kShared.size()));
      if (!kernel) return {};  // .nv.shared.reserved.*: the system's
      if (section.header.sh_size > kMaxBytes) return bad("more shared memory than any device has");
      kernel->sharedBytes = static_cast<std::uint32_t>(section.header.sh_size);
      // From compute capability 9.0 on, the size has the system's part in it.
      if (hasReserved()) kernel->sharedBytes -= std::min(kernel->sharedBytes, kSystemShared);
      return {};
    }
    if (section.name == ".note.nv.cuinfo") return readVersion(section.bytes);
    if (section.name == kInfo)
      return records(section, [&](std::uint8_t attribute, std::string_view value) {
        return globalFact(section, attribute, value);
      });
    if (!section.name.starts_with(kKernelInfo)) return {};
    CubinKernel* kernel = find(section.name.substr(kKernelInfo.size()));
    if (!kernel) return {};
    return records(section, [&](std::uint8_t attribute, std::string_view value) -> Status {
      if (attribute != kRequiredThreads) return {};
      std::uint64_t threads = 1;
      for (std::uint64_t i = 0; i < 3; ++i) {
        const auto extent = recordAt<std::uint32_t>(value, 4 * i);
        if (!extent || *extent == 0 || *extent > 1024) return bad("a block of no possible size");
        threads *= *extent;
      }
      kernel->threads = static_cast<std::uint32_t>(threads);
      return {};
    });
  }

  // Behind the note's header and the owner's name: a format, the compute capability, the version.
  Status readVersion(std::string_view note) {
    constexpr std::uint32_t kType = 1000, kLeast = 110, kMost = 999;
    constexpr std::string_view kOwner("NVIDIA Corp", sizeof "NVIDIA Corp");
    constexpr std::uint64_t kHeader = sizeof(Elf64_Nhdr);
    const auto header = recordAt<Elf64_Nhdr>(note, 0);
    const auto version = recordAt<std::uint16_t>(note, kHeader + kOwner.size() + 4);
    if (!header || header->n_type != kType || header->n_namesz != kOwner.size() ||
        note.substr(kHeader, kOwner.size()) != kOwner || header->n_descsz < 6 || !version ||
        *version < kLeast || *version > kMost || (toolkit_ != 0 && toolkit_ != *version))
      return bad("its note of CUDA's version cannot be");
    toolkit_ = *version;
    return {};
  }

  bool hasReserved() const {
    return std::ranges::any_of(
        sections_, [](const Section& section) { return section.name.starts_with(".nv.shared.reserved."); });
  }

  // A number of one kernel: the index of its symbol, then the number.
  Status globalFact(const Section& section, std::uint8_t attribute, std::string_view value) {
    if (attribute != kRegisterCount && attribute != kFrameSize && attribute != kStackSize) return {};
    const auto symbol = recordAt<std::uint32_t>(value, 0), number = recordAt<std::uint32_t>(value, 4);
    if (!symbol || !number) return bad("a short record");
    const auto name = symbolName(section, *symbol);
    if (!name) return bad("a record of no symbol");
    CubinKernel* kernel = find(*name);
    if (!kernel) return {};  // a subroutine inside of a kernel
    if (*number > kMaxBytes) return bad(fmt::format("kernel {} has an impossible size", *name));
    if (attribute == kRegisterCount)
      kernel->registers = *number;
    else
      kernel->localBytes = std::max(kernel->localBytes, *number);
    return {};
  }

  std::optional<std::string_view> symbolName(const Section& section, std::uint32_t symbol) const {
    if (section.header.sh_link >= sections_.size()) return std::nullopt;
    const Section& symbols = sections_[section.header.sh_link];
    if (symbols.header.sh_link >= sections_.size()) return std::nullopt;
    const auto entry = recordAt<Elf64_Sym>(symbols.bytes, std::uint64_t{symbol} * sizeof(Elf64_Sym));
    return entry ? textAt(sections_[symbols.header.sh_link].bytes, entry->st_name) : std::nullopt;
  }

  Status records(const Section& section,
                 const std::function<Status(std::uint8_t, std::string_view)>& use) const {
    for (std::uint64_t at = 0; at < section.bytes.size();) {
      const auto format = recordAt<std::uint8_t>(section.bytes, at),
                 attribute = recordAt<std::uint8_t>(section.bytes, at + 1);
      const auto size = recordAt<std::uint16_t>(section.bytes, at + 2);
      if (!format || !attribute || !size) return bad("a short record");
      at += 4;
      if (*format != kFormatSized) continue;  // its value was in the 16 bits
      if (*size > section.bytes.size() - at) return bad("a record outside of its section");
      KILN_TRY(use(*attribute, section.bytes.substr(at, *size)));
      at += *size;
    }
    return {};
  }

  std::string_view bytes_;
  std::vector<Section> sections_;
  std::map<std::string, CubinKernel, std::less<>> kernels_;
  std::uint32_t toolkit_ = 0;
};

}  // namespace

Result<Cubin> readCubin(std::string_view bytes) {
  return Reader(bytes).run();
}

}  // namespace kiln::codegen
