// Bounded access to a hostile ELF file: every read is checked against the file, every address against its
// segments.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"

namespace kiln::runtime {

inline tl::unexpected<Error> badElf(const std::string& what) {
  return fail(Code::kDataLoss, "the program is not acceptable: " + what);
}

class ElfView {
 public:
  explicit ElfView(Bytes file) : file_(file) {}

  std::uint64_t size() const { return file_.size(); }

  // The structure at a file offset, if it is inside the file.
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }

  void addLoad(const Elf64_Phdr& load) { loads_.push_back(load); }
  const std::vector<Elf64_Phdr>& loads() const { return loads_; }

  // Where in the file `bytes` at an address come from, if they are in the file-backed part of one segment.
  std::optional<std::uint64_t> offsetOf(std::uint64_t address, std::uint64_t bytes) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address < load.p_vaddr || address - load.p_vaddr > load.p_filesz) continue;
      const std::uint64_t inside = address - load.p_vaddr;
      if (load.p_filesz - inside >= bytes) return load.p_offset + inside;
    }
    return std::nullopt;
  }

  // Whether `bytes` at an address come from the file and nobody writes them: not the program, not the loader
  // when it relocates. What the loader reads after the checks is then what they read.
  bool isConstant(std::uint64_t address, std::uint64_t bytes) const {
    return std::any_of(loads_.begin(), loads_.end(), [&](const Elf64_Phdr& load) {
      return (load.p_flags & PF_W) == 0 && address >= load.p_vaddr && bytes <= load.p_filesz &&
             address - load.p_vaddr <= load.p_filesz - bytes;
    });
  }

  // The structure at an address.
  template <class T>
  std::optional<T> atAddress(std::uint64_t address) const {
    const auto offset = offsetOf(address, sizeof(T));
    return offset ? at<T>(*offset) : std::nullopt;
  }

  // The NUL-terminated string at an address, at most 255 characters.
  std::optional<std::string> stringAt(std::uint64_t address) const {
    std::string text;
    for (int i = 0; i < 256; ++i) {
      const auto c = atAddress<char>(address + static_cast<std::uint64_t>(i));
      if (!c) return std::nullopt;
      if (*c == '\0') return text;
      text += *c >= 0x20 && *c < 0x7f ? *c : '?';
    }
    return std::nullopt;
  }

 private:
  Bytes file_;
  std::vector<Elf64_Phdr> loads_;
};

// The dynamic section: it holds each of the entries that kiln-cc's linker writes once, and no other.
struct ElfDynamic {
  std::uint64_t symbols = 0, strings = 0, stringBytes = 0, gnuHash = 0, relocations = 0, relocationBytes = 0,
                relativeRelocations = 0;
};
// Relocations, strings and the hash table are constants inside the file; the relocations are whole.
Result<ElfDynamic> readDynamic(const ElfView& view, const Elf64_Phdr& dynamic);

// How many symbols the hash table announces; all are constants inside the file.
Result<std::uint64_t> countSymbols(const ElfView& view, const ElfDynamic& dynamic);

}  // namespace kiln::runtime
