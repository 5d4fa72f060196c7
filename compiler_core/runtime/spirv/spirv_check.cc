#include "compiler_core/runtime/spirv/spirv_check.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "compiler_core/runtime/spirv/spirv_names.h"
#include "manifest/base/printable.h"

namespace kiln::spirv {
namespace {

using Words = std::span<const std::uint32_t>;

// Sums of as many as a module can hold do not overflow.
constexpr std::uint64_t kMaxTypeBytes = std::uint64_t{1} << 32;
constexpr std::uint32_t kNoBytes = 0;

struct Entry {
  std::uint32_t function;
  Kernel kernel;
  std::vector<std::uint32_t> interface;
};

// What an id stands for, as far as the check needs to know.
struct Id {
  enum class Kind : std::uint8_t { kNone, kValue, kType, kPointerType, kConstant, kVariable, kFunction };
  Kind kind = Kind::kNone;
  std::uint32_t storage = 0;  // of a pointer type or variable
  std::uint32_t pointee = 0;  // of a pointer type
  std::uint64_t bytes = 0;    // of a type; a variable's pointee
  std::uint64_t value = 0;    // of a constant
};

class Checker {
 public:
  explicit Checker(Words words) : words_(words) {}

  Result<Module> run() {
    KILN_TRY(header());
    for (at_ = 5; at_ < words_.size(); at_ += length_) {
      KILN_TRY(instruction());
    }
    KILN_TRY(ending());
    return std::move(module_);
  }

 private:
  tl::unexpected<Error> bad(const std::string& why) const {
    return fail(Code::kDataLoss, "SPIR-V, word " + std::to_string(at_) + ": " + why);
  }
  tl::unexpected<Error> refuse(const std::string& what) const {
    return fail(Code::kUnimplemented,
                "SPIR-V, word " + std::to_string(at_) + ": " + what + ", which Kiln's kernels do not use");
  }
  std::uint32_t word(std::size_t i) const { return words_[at_ + i]; }
  bool isId(std::uint32_t id) const { return id != 0 && id < ids_.size(); }

  Status header() {
    if (words_.size() < 5) return bad("the header is cut off");
    if (words_[0] != kMagic) return bad("no module: the first word is not SPIR-V's, little-endian");
    const std::uint32_t version = words_[1];
    if ((version & 0xFF0000FF) != 0 || (version >> 16) != 1) return bad("the version is none");
    module_.minor = version >> 8 & 0xFF;
    if (module_.minor < 3 || module_.minor > 6)
      return refuse("version 1." + std::to_string(module_.minor) + " of the format");
    if (words_[3] == 0 || words_[3] > kMaxBound) return bad("the bound of ids is 0 or above 4194303");
    // Each id takes an instruction: a bound far above is no honest module's, and memory to no end.
    if (words_[3] > words_.size()) return bad("the bound of ids is larger than the module");
    if (words_[4] != 0) return bad("the reserved word is not 0");
    ids_.resize(words_[3]);
    return {};
  }

  Status instruction() {
    length_ = words_[at_] >> 16;
    const std::uint32_t opcode = words_[at_] & 0xFFFF;
    if (length_ == 0 || length_ > words_.size() - at_)
      return bad("an instruction of " + std::to_string(length_) + " words, which reaches past the end");
    const auto layout = layoutOf(opcode);
    if (!layout) return refuse("instruction " + std::to_string(opcode));
    if (length_ < layout->leastWords) return bad("instruction " + std::to_string(opcode) + " is too short");
    KILN_TRY(order(opcode));
    if (layout->hasType) KILN_TRY(typeOperand(opcode));
    if (layout->hasResult) {
      const std::uint32_t id = word(layout->hasType ? 2 : 1);
      if (!isId(id) || ids_[id].kind != Id::Kind::kNone)
        return bad("id " + std::to_string(id) + " is outside the bound or defined twice");
      ids_[id].kind = Id::Kind::kValue;
    }
    return meaning(opcode);
  }

  // Section 2.4, as far as what follows relies on it: modes and decorations before types, types before
  // functions, nothing of a function outside of one.
  Status order(std::uint32_t opcode) {
    const bool anywhere = opcode == 0 || opcode == 8 || opcode == 317;
    if (anywhere) return {};
    int section = 0;
    switch (opcode) {
      case kOpCapability:
        section = 0;
        break;
      case kOpExtension:
        section = 1;
        break;
      case kOpExtInstImport:
        section = 2;
        break;
      case kOpMemoryModel:
        section = 3;
        break;
      case kOpEntryPoint:
        section = 4;
        break;
      case kOpExecutionMode:
        section = 5;
        break;
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
        section = 6;  // for people
        break;
      case kOpDecorate:
      case kOpMemberDecorate:
        section = 7;
        break;
      default:
        section = (opcode >= kOpTypeVoid && opcode <= 46) || opcode == 1 || opcode == kOpVariable ? 8 : 9;
    }
    // Undefined values and variables are within functions too.
    if (section_ == 9 && (opcode == 1 || opcode == kOpVariable)) section = 9;
    if (section < section_) return bad("instruction " + std::to_string(opcode) + " is out of its section");
    section_ = section;
    if (section == 9 && (opcode == kOpFunction) == inFunction_)
      return bad("instruction " + std::to_string(opcode) + " is not where a function has it");
    return {};
  }

  Status typeOperand(std::uint32_t opcode) {
    const std::uint32_t type = word(1);
    if (isId(type)) {
      const auto kind = ids_[type].kind;
      if (kind == Id::Kind::kType || kind == Id::Kind::kPointerType) return {};
    }
    return bad("the result of instruction " + std::to_string(opcode) + " is of no type");
  }

  Status meaning(std::uint32_t opcode) {
    switch (opcode) {
      case kOpCapability:
        return capability(word(1));
      case kOpExtension:
        return extension();
      case kOpExtInstImport:
        return import();
      case kOpExtInst:
        if (word(3) != imported_ || imported_ == 0) return bad("an extended instruction of no set");
        return {};
      case kOpMemoryModel:
        return memoryModel();
      case kOpEntryPoint:
        return entryPoint();
      case kOpExecutionMode:
        return mode();
      case kOpDecorate:
        return decorate(word(2), length_ > 3 ? std::optional(word(3)) : std::nullopt);
      case kOpMemberDecorate:
        return memberDecorate();
      case kOpConstant:
        return constant();
      case kOpVariable:
        return variable();
      case kOpFunction:
        inFunction_ = true;
        function_ = word(2);
        ids_[function_].kind = Id::Kind::kFunction;
        return {};
      case kOpFunctionEnd:
        inFunction_ = false;
        return {};
      case kOpFunctionCall:
        if (!isId(word(3))) return bad("a call of nothing");
        if (entryOf_.contains(word(3))) return bad("a call of a kernel");
        calls_[function_].insert(word(3));
        return {};
      default:
        return opcode >= kOpTypeVoid && opcode <= kOpTypeForwardPointer ? type(opcode) : Status();
    }
  }

  Status capability(std::uint32_t number) {
    if (!isAllowedCapability(number)) return refuse("capability " + std::to_string(number));
    auto& all = module_.capabilities;
    if (std::ranges::find(all, number) == all.end()) all.push_back(number);
    return {};
  }

  // The text that begins at operand `first`, and the operand behind it.
  Result<std::pair<std::string, std::size_t>> text(std::size_t first) const {
    std::string out;
    for (std::size_t i = first; i < length_; ++i) {
      for (int shift = 0; shift < 32; shift += 8) {
        const char c = static_cast<char>(word(i) >> shift & 0xFF);
        if (c == '\0') return std::pair(out, i + 1);
        if (out.size() == kMaxNameBytes) return bad("a name is longer than 256 bytes");
        out += c;
      }
    }
    return bad("a text without an end");
  }

  Status extension() {
    KILN_ASSIGN(const auto name, text(1));
    if (!isAllowedExtension(name.first)) return refuse("extension " + printable(name.first, 64));
    return {};
  }

  Status import() {
    KILN_ASSIGN(const auto name, text(2));
    if (name.first != "GLSL.std.450" || imported_ != 0)
      return refuse("instruction set " + printable(name.first, 64));
    imported_ = word(1);
    return {};
  }

  Status memoryModel() {
    if (hasModel_) return bad("a second memory model");
    hasModel_ = true;
    if (word(1) != kPhysical64) return refuse("addressing model " + std::to_string(word(1)));
    if (word(2) != kVulkanMemory) return refuse("memory model " + std::to_string(word(2)));
    return {};
  }

  Status entryPoint() {
    if (word(1) != kGlCompute) return refuse("execution model " + std::to_string(word(1)));
    if (entries_.size() == kMaxKernels) return bad("more than 65536 kernels");
    KILN_ASSIGN(const auto name, text(3));
    if (name.first.empty() || !names_.insert(name.first).second)
      return bad("a kernel's name is empty or there twice");
    // Names go to people and into texts of lines.
    if (!std::ranges::all_of(name.first, [](char c) { return c > ' ' && c <= '~'; }))
      return bad("a kernel's name holds what is no visible ASCII");
    Entry entry{word(2), {}, {}};
    if (!isId(entry.function) || !entryOf_.emplace(entry.function, entries_.size()).second)
      return bad("a kernel without a function of its own");
    entry.kernel.name = name.first;
    for (std::size_t i = name.second; i < length_; ++i) entry.interface.push_back(word(i));
    entries_.push_back(std::move(entry));
    return {};
  }

  Status mode() {
    if (!isAllowedMode(word(2))) return refuse("execution mode " + std::to_string(word(2)));
    const auto found = entryOf_.find(word(1));
    if (found == entryOf_.end()) return bad("an execution mode of no kernel");
    if (word(2) != kLocalSize) return {};
    if (length_ != 6) return bad("a block's size without three numbers");
    for (int i = 0; i < 3; ++i) {
      const std::uint32_t threads = word(3 + static_cast<std::size_t>(i));
      std::uint32_t& local = entries_[found->second].kernel.local[i];
      if (threads == 0 || local != 0) return bad("a block's size is 0 or there twice");
      local = threads;
    }
    return {};
  }

  Status decorate(std::uint32_t decoration, std::optional<std::uint32_t> operand) {
    if (decoration == kBinding || decoration == kDescriptorSet) return refuse("a binding of a descriptor");
    if (decoration == kLinkageAttributes) return refuse("a function of another module");
    if (decoration == kSpecId) return refuse("a specialisation constant");
    if (decoration != kBuiltIn) return {};
    if (!operand || !isAllowedBuiltIn(*operand)) return refuse("a built-in value of another kind");
    // It would be another block's size than the mode says.
    if (*operand == kWorkgroupSizeBuiltIn) return refuse("a block's size by decoration");
    return {};
  }

  Status memberDecorate() {
    if (word(3) != kOffset) return decorate(word(3), length_ > 4 ? std::optional(word(4)) : std::nullopt);
    if (length_ != 5) return bad("an offset without a number");
    offsets_[{word(1), word(2)}] = word(4);
    return {};
  }

  // Bytes of a type as memory lays it out; of one that has none, kNoBytes. Nothing is larger than
  // kMaxTypeBytes.
  Result<std::uint64_t> bytesOf(std::uint32_t id) const {
    if (!isId(id) || (ids_[id].kind != Id::Kind::kType && ids_[id].kind != Id::Kind::kPointerType))
      return bad("id " + std::to_string(id) + " is used as a type and is none");
    return ids_[id].bytes;
  }

  Status type(std::uint32_t opcode) {
    if (opcode == kOpTypeForwardPointer) {
      if (!isAllowedStorage(word(2))) return refuse("storage class " + std::to_string(word(2)));
      return {};
    }
    Id& self = ids_[word(1)];
    // Until its operands are read, it is none: a type does not hold itself.
    std::uint64_t bytes = kNoBytes;
    switch (opcode) {
      case kOpTypeInt:
      case kOpTypeFloat:
        if (word(2) != 8 && word(2) != 16 && word(2) != 32 && word(2) != 64)
          return bad("a number of " + std::to_string(word(2)) + " bits");
        bytes = word(2) / 8;
        break;
      case kOpTypeBool:
        bytes = 4;  // as drivers keep one in a block's memory
        break;
      case kOpTypeVector: {
        if (word(3) < 2 || word(3) > 4) return bad("a vector of " + std::to_string(word(3)));
        KILN_ASSIGN(const std::uint64_t element, bytesOf(word(2)));
        bytes = element * word(3);
        break;
      }
      case kOpTypeArray: {
        KILN_ASSIGN(const std::uint64_t element, bytesOf(word(2)));
        if (!isId(word(3)) || ids_[word(3)].kind != Id::Kind::kConstant || ids_[word(3)].value == 0)
          return bad("an array's length is no constant, or 0");
        const std::uint64_t length = ids_[word(3)].value;
        if (element != 0 && length > kMaxTypeBytes / element) return bad("an array beyond 4 GiB");
        bytes = element * length;
        break;
      }
      case kOpTypeStruct: {
        KILN_ASSIGN(bytes, structBytes());
        break;
      }
      case kOpTypePointer: {
        if (!isAllowedStorage(word(2))) return refuse("storage class " + std::to_string(word(2)));
        self = {Id::Kind::kPointerType, word(2), word(3), 8, 0};
        return {};
      }
      default:
        break;
    }
    self.kind = Id::Kind::kType;
    self.bytes = bytes;
    return {};
  }

  // Where offsets are stated they count, else members lie one behind the other.
  Result<std::uint64_t> structBytes() const {
    std::uint64_t end = 0;
    for (std::size_t i = 2; i < length_; ++i) {
      KILN_ASSIGN(const std::uint64_t member, bytesOf(word(i)));
      const auto stated = offsets_.find({word(1), static_cast<std::uint32_t>(i - 2)});
      const std::uint64_t offset = stated == offsets_.end() ? end : stated->second;
      end = std::max(end, offset + member);
    }
    if (end > kMaxTypeBytes) return bad("a structure beyond 4 GiB");
    return end;
  }

  Status constant() {
    Id& self = ids_[word(2)];
    self.kind = Id::Kind::kConstant;
    self.value = word(3);
    if (length_ > 4) self.value |= std::uint64_t{word(4)} << 32;
    return {};
  }

  Status variable() {
    const Id& type = ids_[word(1)];
    const std::uint32_t storage = word(3);
    if (!isAllowedStorage(storage) || storage == kPhysicalStorageBuffer)
      return refuse("a variable of storage class " + std::to_string(storage));
    if (type.kind != Id::Kind::kPointerType || type.storage != storage)
      return bad("a variable's type is no pointer to its storage class");
    if ((storage == kFunction) != inFunction_) return bad("a variable is not where its storage class lies");
    KILN_ASSIGN(const std::uint64_t bytes, bytesOf(type.pointee));
    ids_[word(2)] = {Id::Kind::kVariable, storage, 0, bytes, 0};
    if (storage == kWorkgroup) sharedBytes_ += bytes;
    if (storage == kPushConstant) {
      if (bytes > kPushConstantBytes) return refuse("push constants of " + std::to_string(bytes) + " bytes");
      module_.pushConstantBytes = std::max(module_.pushConstantBytes, bytes);
    }
    return {};
  }

  Status ending() {
    if (inFunction_) return bad("a function without an end");
    if (!hasModel_) return bad("no memory model");
    for (Entry& entry : entries_) {
      const std::string name = "kernel " + printable(entry.kernel.name, 64);
      if (ids_[entry.function].kind != Id::Kind::kFunction) return bad(name + " is no function");
      if (entry.kernel.local[0] == 0) return bad(name + " does not say how many threads its block has");
      // Before 1.4 an interface need not name what a block shares.
      entry.kernel.workgroupBytes = sharedBytes_;
      if (module_.minor >= 4) {
        entry.kernel.workgroupBytes = 0;
        for (const std::uint32_t id : std::set(entry.interface.begin(), entry.interface.end())) {
          if (!isId(id) || ids_[id].kind != Id::Kind::kVariable) return bad(name + " names no variable");
          if (ids_[id].storage == kWorkgroup) entry.kernel.workgroupBytes += ids_[id].bytes;
        }
      }
      module_.kernels.push_back(std::move(entry.kernel));
    }
    return calls();
  }

  // No function comes back to itself: drivers inline all of them. Removes functions that call none that is
  // left, until none is left or each calls another.
  Status calls() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> callers;
    std::map<std::uint32_t, std::size_t> open;
    std::vector<std::uint32_t> done;
    for (const auto& [caller, callees] : calls_) {
      for (const std::uint32_t callee : callees) {
        if (ids_[callee].kind != Id::Kind::kFunction) return bad("a call of what is no function");
        callers[callee].push_back(caller);
        if (!calls_.contains(callee)) done.push_back(callee);
      }
      open[caller] = callees.size();
    }
    std::ranges::sort(done);
    done.erase(std::ranges::unique(done).begin(), done.end());
    while (!done.empty()) {
      const std::uint32_t callee = done.back();
      done.pop_back();
      for (const std::uint32_t caller : callers[callee])
        if (--open[caller] == 0) {
          open.erase(caller);
          done.push_back(caller);
        }
    }
    return open.empty() ? Status() : bad("functions that call each other in a circle");
  }

  const Words words_;
  std::size_t at_ = 0, length_ = 0;
  Module module_;
  std::vector<Id> ids_;
  std::vector<Entry> entries_;
  std::map<std::uint32_t, std::size_t> entryOf_;  // by function
  std::set<std::string> names_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> offsets_;  // of a structure's members
  std::map<std::uint32_t, std::set<std::uint32_t>> calls_;                    // by caller
  std::uint64_t sharedBytes_ = 0;
  std::uint32_t imported_ = 0, function_ = 0;
  int section_ = 0;
  bool hasModel_ = false, inFunction_ = false;
};

}  // namespace

Result<Module> check(std::string_view bytes) {
  if (bytes.size() > kMaxBytes)
    return fail(Code::kDataLoss, "SPIR-V: larger than " + std::to_string(kMaxBytes) + " bytes");
  if (bytes.size() % 4 != 0) return fail(Code::kDataLoss, "SPIR-V: the size is no number of words");
  std::vector<std::uint32_t> words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return Checker(words).run();
}

}  // namespace kiln::spirv
