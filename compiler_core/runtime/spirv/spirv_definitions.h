// Ids of a module that check() took, by what defines them. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler_core/runtime/spirv/spirv_names.h"

namespace kiln::spirv {

class Definitions {
 public:
  // `words` outlive it.
  explicit Definitions(std::span<const std::uint32_t> words) : words_(words), at_(words[3]) {
    for (std::size_t at = 5; at < words_.size(); at += words_[at] >> 16) {
      const auto layout = layoutOf(words_[at] & 0xFFFF);
      if (layout->hasResult) at_[words_[at + (layout->hasType ? 2 : 1)]] = at;
    }
  }

  // The instruction that defines an id: its words, none where nothing does.
  std::span<const std::uint32_t> of(std::uint32_t id) const {
    if (id >= at_.size() || at_[id] == 0) return {};
    return words_.subspan(at_[id], words_[at_[id]] >> 16);
  }
  std::size_t wordOf(std::uint32_t id) const { return at_[id]; }
  bool isA(std::uint32_t id, std::uint32_t opcode) const {
    const auto found = of(id);
    return !found.empty() && (found[0] & 0xFFFF) == opcode;
  }
  // 0 where the id has none.
  std::uint32_t typeOf(std::uint32_t id) const {
    const auto found = of(id);
    return !found.empty() && layoutOf(found[0] & 0xFFFF)->hasType ? found[1] : 0;
  }
  bool isPointer(std::uint32_t id) const { return isA(typeOf(id), kOpTypePointer); }
  // Of a pointer.
  std::uint32_t storageOf(std::uint32_t pointer) const { return of(typeOf(pointer))[2]; }
  std::uint32_t pointeeOf(std::uint32_t pointer) const { return of(typeOf(pointer))[3]; }
  // Of a type: a number of 64 bits without a fraction; the bits of any number, 0 of what is none.
  bool isWide(std::uint32_t type) const { return isA(type, kOpTypeInt) && bitsOf(type) == 64; }
  std::uint32_t bitsOf(std::uint32_t type) const {
    return isA(type, kOpTypeInt) || isA(type, kOpTypeFloat) ? of(type)[2] : 0;
  }
  // The value of a constant number.
  std::optional<std::uint64_t> constant(std::uint32_t id) const {
    if (!isA(id, kOpConstant)) return {};
    const auto found = of(id);
    return found[3] | (found.size() > 4 ? std::uint64_t{found[4]} << 32 : 0);
  }

 private:
  const std::span<const std::uint32_t> words_;
  std::vector<std::size_t> at_;  // by id; 0: nowhere
};

}  // namespace kiln::spirv
