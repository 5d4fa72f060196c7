#include "compiler_core/runtime/spirv/spirv_bounds.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "compiler_core/runtime/spirv/spirv_check.h"
#include "compiler_core/runtime/spirv/spirv_definitions.h"
#include "compiler_core/runtime/spirv/spirv_flow.h"
#include "compiler_core/runtime/spirv/spirv_names.h"
#include "compiler_core/runtime/spirv/spirv_operands.h"

namespace kiln::spirv {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kAligned = 2;                          // of memory operands
constexpr std::uint32_t kBlock = 2;                            // decoration
constexpr std::uint32_t kPushWords = sizeof(BoundedPush) / 8;  // members of the push constants
enum Member : std::uint32_t { kArguments, kFirstBlock, kWritable, kWritableBytes, kReadable, kReadableBytes };

void put(Words& to, std::uint32_t opcode, std::initializer_list<std::uint32_t> operands) {
  to.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | opcode);
  to.insert(to.end(), operands);
}

class Bounder {
 public:
  explicit Bounder(Words words) : words_(std::move(words)), ids_(words_), next_(words_[3]) {}

  Result<std::string> run() {
    KILN_TRY(checkFlow(words_, ids_));
    KILN_TRY(scan());
    for (at_ = 5; at_ < words_.size(); at_ += length()) KILN_TRY(write());
    if (next_ > kMaxBound) return refuse("a module with so many ids that none is left to bound it");
    Words all(words_.begin(), words_.begin() + 5);
    all[3] = next_;
    for (const Words* section : {&head_, &decorations_, &globals_, &added_, &functions_})
      all.insert(all.end(), section->begin(), section->end());
    std::string bytes(all.size() * sizeof(std::uint32_t), '\0');
    std::memcpy(bytes.data(), all.data(), bytes.size());
    return bytes;
  }

 private:
  tl::unexpected<Error> refuse(const std::string& what) const {
    return fail(Code::kUnimplemented, "SPIR-V, word " + std::to_string(at_) + ": " + what +
                                          ", which cannot be kept within the memory of a launch");
  }
  std::uint32_t word(std::size_t i) const { return words_[at_ + i]; }
  std::size_t length() const { return words_[at_] >> 16; }
  std::uint32_t opcode() const { return words_[at_] & 0xFFFF; }

  // What is pushed, and through which pointers something is stored.
  Status scan() {
    for (at_ = 5; at_ < words_.size(); at_ += length()) {
      if (opcode() == kOpTypeBool) bool_ = word(1);
      if (opcode() == kOpTypeInt && word(2) == 32 && index_ == 0) index_ = word(1);
      if (opcode() == kOpStore) stored_.insert(word(1));
      if (opcode() != kOpVariable || word(3) != kPushConstant) continue;
      if (push_ != 0) return refuse("a second variable of push constants");
      push_ = word(2);
    }
    if (push_ == 0) return {};
    at_ = ids_.wordOf(push_);
    const auto block = ids_.of(ids_.pointeeOf(push_));
    if (block.size() != 4 || (block[0] & 0xFFFF) != kOpTypeStruct || block[2] != block[3] ||
        !ids_.isWide(block[2]))
      return refuse("push constants other than two words of 64 bits");
    wide_ = block[2];
    std::map<std::uint32_t, std::uint32_t> offsets;
    for (at_ = 5; at_ < words_.size() && opcode() != kOpFunction; at_ += length())
      if (opcode() == kOpMemberDecorate && word(1) == block[1] && word(3) == kOffset)
        offsets[word(2)] = word(4);
    if (offsets != std::map<std::uint32_t, std::uint32_t>{{0, 0}, {1, 8}})
      return refuse("push constants other than one word behind the other");
    if (bool_ == 0) put(added_, kOpTypeBool, {bool_ = next_++});
    if (index_ == 0) put(added_, kOpTypeInt, {index_ = next_++, 32, 0});
    put(added_, kOpTypePointer, {pushPointer_ = next_++, kPushConstant, wide_});
    return {};
  }

  Status write() {
    if (opcode() == kOpFunction) inFunction_ = isEntry_ = true, returned_ = word(1);
    if (inFunction_) return writeBody();
    constexpr std::uint32_t kHead[] = {3,
                                       4,
                                       5,
                                       6,
                                       7,
                                       kOpExtension,
                                       kOpExtInstImport,
                                       kOpMemoryModel,
                                       kOpExecutionMode,
                                       kOpCapability,
                                       kOpDecorate,
                                       kOpMemberDecorate};
    if (opcode() == kOpEntryPoint) return writeEntryPoint(), Status();
    if (std::ranges::find(kHead, opcode()) != std::end(kHead)) return copy(head_), Status();
    if (opcode() == 1) return refuse("an undefined value");
    if (opcode() != kOpVariable) return copy(globals_), Status();
    if (word(3) == kPrivate && length() < 5) return refuse("a variable that begins undefined");
    if (word(2) != push_) return copy(globals_), Status();
    const std::uint32_t block = next_++, pointer = next_++;
    put(decorations_, kOpDecorate, {block, kBlock});
    globals_.push_back((kPushWords + 2) << 16 | kOpTypeStruct);
    globals_.push_back(block);
    for (std::uint32_t i = 0; i < kPushWords; ++i) {
      put(decorations_, kOpMemberDecorate, {block, i, kOffset, 8 * i});
      globals_.push_back(wide_);
    }
    put(globals_, kOpTypePointer, {pointer, kPushConstant, block});
    put(globals_, kOpVariable, {pointer, push_, kPushConstant});
    return {};
  }

  void copy(Words& to) const {
    const auto from = words_.begin() + static_cast<std::ptrdiff_t>(at_);
    to.insert(to.end(), from, from + static_cast<std::ptrdiff_t>(length()));
  }

  // From version 1.4 on, a kernel names every variable that it reaches.
  void writeEntryPoint() {
    const std::size_t start = head_.size();
    copy(head_);
    const auto names = [this] {
      std::size_t i = 3;  // the name's last word is the first with a zero byte at its end
      while (word(i) >> 24 != 0) ++i;
      for (++i; i < length(); ++i)
        if (word(i) == push_) return true;
      return false;
    };
    if (push_ == 0 || (words_[1] >> 8 & 0xFF) < 4 || names()) return;
    head_.push_back(push_);
    head_[start] += 1u << 16;
  }

  Status writeBody() {
    const std::uint32_t op = opcode();
    if (isEntry_ && op != kOpFunction && op != kOpFunctionParameter && op != kOpLabel && op != 8 &&
        op != 317) {
      if (op == kOpVariable) return refuse("a variable of a function");
      writeLimits();
      isEntry_ = false;
    }
    switch (op) {
      case 1:
        return refuse("an undefined value");
      case kOpVariable:
        return refuse("a variable of a function");
      case kOpAccessChain:
      case kOpAccessChain + 1:  // which promises what is not known
        return writePart();
      case kOpConvertUToPtr:
        return writeAddress();
      case kOpLoad:
      case kOpStore:
        return writeAccess();
      case kOpUnreachable:
        return writeReturn(), Status();
      case kOpFunctionEnd:
        inFunction_ = false;
        break;
      default:
        KILN_TRY(noPointers());
    }
    copy(functions_);
    return {};
  }

  // Pointers come from nowhere else and go nowhere else.
  Status noPointers() const {
    const auto layout = layoutOf(opcode());
    const std::string name = "instruction " + std::to_string(opcode());
    if (layout->hasType && ids_.isA(word(1), kOpTypePointer)) return refuse(name + " that makes a pointer");
    const std::string_view letters = wordingOf(opcode()).operands;
    std::size_t i = 1 + (layout->hasType ? 1 : 0) + (layout->hasResult ? 1 : 0);
    for (std::size_t letter = 0; letter < letters.size() && i < length(); ++i) {
      const char kind = letters[letter];
      if (kind == 'N' || kind == 'M') break;
      if (kind != 'n' && ids_.isPointer(word(i))) return refuse(name + " of a pointer");
      if (kind == 'S') break;
      if (kind != 'I') ++letter;
    }
    return {};
  }

  // What may be reached, read once in each function.
  void writeLimits() {
    if (push_ == 0) return;
    for (std::uint32_t member = kWritable; member < kPushWords; ++member) {
      const std::uint32_t place = next_++;
      limits_[member] = next_++;
      put(functions_, kOpAccessChain, {pushPointer_, place, push_, number(index_, member)});
      put(functions_, kOpLoad, {wide_, limits_[member], place});
    }
  }

  std::uint32_t number(std::uint32_t type, std::uint64_t value) {
    std::uint32_t& id = numbers_[{type, value}];
    if (id != 0) return id;
    id = next_++;
    const auto low = static_cast<std::uint32_t>(value);
    if (ids_.isWide(type))
      put(added_, kOpConstant, {type, id, low, static_cast<std::uint32_t>(value >> 32)});
    else
      put(added_, kOpConstant, {type, id, low});
    return id;
  }

  // A part of a variable: every index within its array.
  Status writePart() {
    if (!ids_.isA(word(3), kOpVariable)) return refuse("a part of what is no variable");
    if (!ids_.isA(word(1), kOpTypePointer)) return refuse("a part without a pointer's type");
    std::uint32_t type = ids_.pointeeOf(word(3));
    Words indices;
    for (std::size_t i = 4; i < length(); ++i) {
      const auto of = ids_.of(type);
      const std::uint32_t kind = of.empty() ? 0 : of[0] & 0xFFFF;
      const auto fixed = ids_.constant(word(i));
      std::uint64_t count = 0;
      if (kind == kOpTypeArray) count = ids_.constant(of[3]).value_or(0);
      if (kind == kOpTypeVector) count = of[3];
      if (kind == kOpTypeStruct && fixed) count = of.size() - 2;
      if (count == 0 || (fixed && *fixed >= count)) return refuse("a part that its variable does not have");
      indices.push_back(word(i));
      if (!fixed) {
        KILN_ASSIGN(indices.back(), atMost(word(i), count - 1));
      }
      type = kind == kOpTypeStruct ? of[2 + *fixed] : of[2];
    }
    const auto pointer = ids_.of(word(1));
    if (pointer[2] != ids_.storageOf(word(3)) || pointer[3] != type) return refuse("a part of another type");
    functions_.push_back(static_cast<std::uint32_t>(4 + indices.size()) << 16 | kOpAccessChain);
    functions_.insert(functions_.end(), {word(1), word(2), word(3)});
    functions_.insert(functions_.end(), indices.begin(), indices.end());
    return {};
  }

  Result<std::uint32_t> atMost(std::uint32_t index, std::uint64_t last) {
    const std::uint32_t type = ids_.typeOf(index);
    if (!ids_.isA(type, kOpTypeInt) || ids_.bitsOf(type) < 32) return refuse("an index that is no number");
    if (bool_ == 0) put(added_, kOpTypeBool, {bool_ = next_++});
    const std::uint32_t most = number(type, last), inside = next_++, chosen = next_++;
    put(functions_, kOpULessThanEqual, {bool_, inside, index, most});
    put(functions_, kOpSelect, {type, chosen, inside, index, most});
    return chosen;
  }

  // Whether a value is the address that was pushed.
  bool isArguments(std::uint32_t id) const {
    if (!ids_.isA(id, kOpLoad)) return false;
    const std::uint32_t place = ids_.of(id)[3];
    if (!ids_.isA(place, kOpAccessChain)) return false;
    const auto part = ids_.of(place);
    return part.size() == 5 && part[3] == push_ && ids_.constant(part[4]) == kArguments;
  }
  // Whether a value is the address of a word of the argument block.
  bool isArgument(std::uint32_t id) const {
    if (isArguments(id)) return true;
    if (!ids_.isA(id, kOpIAdd)) return false;
    const auto sum = ids_.of(id);
    const auto offset = ids_.constant(sum[4]);
    return isArguments(sum[3]) && ids_.typeOf(sum[4]) == wide_ && offset &&
           *offset <= kArgumentBlockBytes - 8;
  }

  Status writeAddress() {
    const std::uint32_t result = word(2), address = word(3);
    if (push_ == 0) return refuse("an address in a module without push constants");
    if (!ids_.isA(word(1), kOpTypePointer) || ids_.storageOf(result) != kPhysicalStorageBuffer)
      return refuse("an address that becomes no pointer to memory");
    if (ids_.bitsOf(ids_.pointeeOf(result)) == 0) return refuse("an address of what is no number");
    if (ids_.typeOf(address) != wide_) return refuse("an address of another type than the push constants'");
    const bool isStored = stored_.contains(result);
    std::uint32_t chosen = address;
    if (isStored || !isArgument(address)) {
      std::uint32_t inside = within(address, kWritable);
      if (!isStored) {
        const std::uint32_t other = within(address, kReadable), either = next_++;
        put(functions_, kOpLogicalOr, {bool_, either, inside, other});
        inside = either;
      }
      chosen = next_++;
      put(functions_, kOpSelect, {wide_, chosen, inside, address, limits_[kWritable]});
    }
    put(functions_, kOpConvertUToPtr, {word(1), result, chosen});
    return {};
  }

  std::uint32_t within(std::uint32_t address, Member start) {
    const std::uint32_t offset = next_++, inside = next_++;
    put(functions_, kOpISub, {wide_, offset, address, limits_[start]});
    put(functions_, kOpULessThan, {bool_, inside, offset, limits_[start + 1]});
    return inside;
  }

  Status writeAccess() {
    const bool isLoad = opcode() == kOpLoad;
    const std::uint32_t pointer = word(isLoad ? 3 : 1), type = isLoad ? word(1) : ids_.typeOf(word(2));
    if (!ids_.isPointer(pointer)) return refuse("an access through no pointer");
    const std::uint32_t storage = ids_.storageOf(pointer);
    if (type != ids_.pointeeOf(pointer) || ids_.isA(type, kOpTypePointer) || (isLoad && pointer == push_))
      return refuse("an access of another type than its pointer's");
    if (!isLoad && (storage == kInput || storage == kPushConstant)) return refuse("a store to what is read");
    const std::size_t start = functions_.size(), mask = isLoad ? 4 : 3;
    copy(functions_);
    if (storage != kPhysicalStorageBuffer) return {};
    // What the module says of an address it may have been given another one for.
    if (length() < mask + 2 || (word(mask) & kAligned) == 0) return refuse("an access of unknown alignment");
    functions_[start + mask + 1] = ids_.bitsOf(type) / 8;
    return {};
  }

  // A compiler may take it that what must not be reached is not, and drop a comparison for it.
  void writeReturn() {
    if (ids_.isA(returned_, kOpTypeVoid)) return put(functions_, kOpReturn, {});
    std::uint32_t& null = nulls_[returned_];
    if (null == 0) put(added_, kOpConstantNull, {returned_, null = next_++});
    put(functions_, kOpReturnValue, {null});
  }

  const Words words_;
  std::size_t at_ = 0;
  const Definitions ids_;
  std::uint32_t next_;  // id
  std::set<std::uint32_t> stored_;
  std::uint32_t push_ = 0, pushPointer_ = 0, wide_ = 0, index_ = 0, bool_ = 0;  // ids; 0: none
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> numbers_;    // by type and value
  std::map<std::uint32_t, std::uint32_t> nulls_;                                // by type
  Words head_, decorations_, globals_, added_, functions_;
  bool inFunction_ = false, isEntry_ = false;  // isEntry_: before the first instruction of a function's body
  std::uint32_t returned_ = 0;                 // type
  std::uint32_t limits_[kPushWords] = {};      // ids, by member, in the function that is written
};

}  // namespace

Result<std::string> bound(std::string_view bytes) {
  Words words(bytes.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
  return Bounder(std::move(words)).run();
}

}  // namespace kiln::spirv
