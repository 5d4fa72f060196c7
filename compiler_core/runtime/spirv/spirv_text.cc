#include "compiler_core/runtime/spirv/spirv_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler_core/runtime/spirv/spirv_check.h"
#include "compiler_core/runtime/spirv/spirv_names.h"
#include "compiler_core/runtime/spirv/spirv_operands.h"
#include "manifest/base/printable.h"

namespace kiln::spirv {
namespace {

using Words = std::span<const std::uint32_t>;

constexpr std::size_t kHeaderWords = 5;
constexpr std::size_t kMaxGlobalBytes = 40;  // of a type or constant that is written out
constexpr std::uint32_t kAligned = 2;        // of memory operands
constexpr std::size_t kDigits = 16;          // of a digest that names something

std::string shortDigest(std::string_view text) {
  return digestOf(text).hex().substr(0, kDigits);
}

// The shortest decimal that reads as the same number; a NaN by its bits.
template <class Float, class Bits>
std::string decimal(Bits bits) {
  const auto value = std::bit_cast<Float>(bits);
  if (std::isnan(value)) return "nan " + std::to_string(bits);
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

struct Function {
  std::size_t begin = 0, end = 0;  // words of the module
  std::uint32_t id = 0;
  std::vector<std::uint32_t> calls;  // ids of functions
};

// What ids stand for outside of functions, and where those lie. Of a module that check() has read.
class ModuleText {
 public:
  explicit ModuleText(Words words) : words_(words), globals_(words[3]), types_(words[3]), bits_(words[3]) {
    for (std::size_t at = kHeaderWords; at < words_.size(); at += words_[at] >> 16) read(at);
  }

  const std::vector<Function>& functions() const { return functions_; }

  // Those that are called before their callers; check() has refused circles.
  std::vector<std::size_t> calleesFirst() const {
    std::map<std::uint32_t, std::size_t> index;
    for (std::size_t i = 0; i < functions_.size(); ++i) index[functions_[i].id] = i;
    std::vector<std::vector<std::size_t>> callers(functions_.size());
    std::vector<std::size_t> open(functions_.size()), order;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      for (const std::uint32_t callee : functions_[i].calls) callers[index.at(callee)].push_back(i);
      open[i] = functions_[i].calls.size();
      if (open[i] == 0) order.push_back(i);
    }
    for (std::size_t done = 0; done < order.size(); ++done)
      for (const std::size_t caller : callers[order[done]])
        if (--open[caller] == 0) order.push_back(caller);
    return order;
  }

  const std::string* kernelName(std::uint32_t function) const {
    const auto found = kernels_.find(function);
    return found == kernels_.end() ? nullptr : &found->second;
  }

  // Calls `line` with each instruction's offset in words and text. `names` are those of what it calls.
  void write(const Function& function, const std::unordered_map<std::uint32_t, std::string>& names,
             const std::function<void(std::size_t, std::string)>& line) const {
    std::unordered_map<std::uint32_t, std::uint32_t> values, variables;
    for (std::size_t at = function.begin; at < function.end; at += words_[at] >> 16)
      if (const std::uint32_t id = resultAt(at); id != 0)
        values.emplace(id, static_cast<std::uint32_t>(values.size()));
    const auto text = [&](std::uint32_t id) -> std::string {
      if (id >= globals_.size()) return "%?";
      if (const auto value = values.find(id); value != values.end())
        return "%" + std::to_string(value->second);
      if (const auto callee = names.find(id); callee != names.end()) return callee->second;
      if (variables_.contains(id)) {
        const auto [variable, isNew] = variables.emplace(id, static_cast<std::uint32_t>(variables.size()));
        return "@" + std::to_string(variable->second) + ":" + globals_[id];
      }
      return globals_[id].empty() ? "%?" : globals_[id];
    };
    for (std::size_t at = function.begin; at < function.end; at += words_[at] >> 16) {
      std::string said = instruction(at, text);
      if (at == function.begin)
        if (const auto modes = modes_.find(function.id); modes != modes_.end()) said += modes->second;
      line(at - function.begin, std::move(said));
    }
  }

 private:
  std::size_t lengthAt(std::size_t at) const { return words_[at] >> 16; }
  std::uint32_t resultAt(std::size_t at) const {
    const auto layout = layoutOf(words_[at] & 0xFFFF);
    return layout->hasResult ? words_[at + (layout->hasType ? 2 : 1)] : 0;
  }
  std::string numbers(std::size_t first, std::size_t last) const {
    std::string out;
    for (std::size_t i = first; i < last; ++i) out += " " + std::to_string(words_[i]);
    return out;
  }
  // The text at word `at`, which check() has found an end of.
  std::string textAt(std::size_t at) const {
    const auto* const begin = reinterpret_cast<const char*>(words_.data() + at);
    return {begin, ::strnlen(begin, 4 * (words_.size() - at))};
  }

  void read(std::size_t at) {
    const std::uint32_t opcode = words_[at] & 0xFFFF;
    const auto layout = layoutOf(opcode);
    if (layout->hasType) types_[words_[at + 2]] = words_[at + 1];
    switch (opcode) {
      case kOpEntryPoint:
        kernels_[words_[at + 2]] = textAt(at + 3);
        return;
      case kOpExecutionMode: {
        const bool isSize = words_[at + 2] == kLocalSize;
        modes_[words_[at + 1]] +=
            (isSize ? " LocalSize" : " mode" + numbers(at + 2, at + 3)) + numbers(at + 3, at + lengthAt(at));
        return;
      }
      case kOpDecorate:
        return decorate(words_[at + 1], words_[at + 2], at + 3, at + lengthAt(at), "");
      case kOpMemberDecorate:
        return decorate(words_[at + 1], words_[at + 3], at + 4, at + lengthAt(at),
                        "." + std::to_string(words_[at + 2]));
      case kOpFunction:
        functions_.push_back({at, 0, words_[at + 2], {}});
        return;
      case kOpFunctionCall:
        functions_.back().calls.push_back(words_[at + 3]);
        return;
      case kOpFunctionEnd:
        functions_.back().end = at + lengthAt(at);
        return;
      default:
        break;
    }
    const bool isGlobal = functions_.empty() || functions_.back().end != 0;
    if (isGlobal && layout->hasResult) define(at, opcode, resultAt(at));
  }

  void decorate(std::uint32_t id, std::uint32_t decoration, std::size_t first, std::size_t last,
                const std::string& member) {
    const std::string_view known = decorationName(decoration);
    const std::string name = known.empty() ? "decoration " + std::to_string(decoration) : std::string(known);
    decorations_[id] += " " + name + member + numbers(first, last);
  }
  std::string decorationsOf(std::uint32_t id) const {
    const auto found = decorations_.find(id);
    return found == decorations_.end() ? "" : found->second;
  }

  // A type, a constant, or a variable of the module.
  void define(std::size_t at, std::uint32_t opcode, std::uint32_t id) {
    const auto global = [&](std::uint32_t of) {
      return of < globals_.size() && !globals_[of].empty() ? globals_[of] : std::string("?");
    };
    const auto operands = [&](std::size_t first) {
      std::string out;
      for (std::size_t i = first; i < at + lengthAt(at); ++i)
        out += (i > first ? "," : "") + global(words_[i]);
      return out;
    };
    std::string text;
    switch (opcode) {
      case kOpExtInstImport:
        text = printable(textAt(at + 2), kMaxGlobalBytes);
        break;
      case kOpTypeInt:
        bits_[id] = static_cast<std::uint8_t>(words_[at + 2]);
        text = (words_[at + 3] != 0 ? "int" : "uint") + std::to_string(words_[at + 2]);
        break;
      case kOpTypeFloat:
        bits_[id] = static_cast<std::uint8_t>(words_[at + 2]);
        text = "float" + std::to_string(words_[at + 2]);
        break;
      case kOpTypePointer:
        text = "ptr<" + std::string(storageName(words_[at + 2])) + "," + global(words_[at + 3]) + ">";
        break;
      case kOpConstant:
        text = global(words_[at + 1]) + " " + constant(at);
        break;
      case kOpVariable:
        variables_.insert(id);
        text = global(words_[at + 1]) + (lengthAt(at) > 4 ? "=" + operands(at + 4) : "");
        break;
      default: {
        const bool hasType = layoutOf(opcode)->hasType;
        const std::string parts = opcode == kOpTypeVector
                                      ? global(words_[at + 2]) + numbers(at + 3, at + lengthAt(at))
                                      : operands(at + (hasType ? 3 : 2));
        text = std::string(wordingOf(opcode).name) + (hasType ? " " + global(words_[at + 1]) : "") +
               (parts.empty() ? "" : "<" + parts + ">");
      }
    }
    text += decorationsOf(id);
    if (text.size() > kMaxGlobalBytes) text = std::string(wordingOf(opcode).name) + "#" + shortDigest(text);
    globals_[id] = std::move(text);
  }

  std::string constant(std::size_t at) const {
    const std::uint32_t type = words_[at + 1];
    std::uint64_t value = words_[at + 3];
    if (lengthAt(at) > 4) value |= std::uint64_t{words_[at + 4]} << 32;
    const bool isFloat = type < globals_.size() && globals_[type].starts_with("float");
    if (isFloat && bits_[type] == 32) return decimal<float>(static_cast<std::uint32_t>(value));
    if (isFloat && bits_[type] == 64) return decimal<double>(value);
    return std::to_string(value);
  }

  std::string instruction(std::size_t at, const std::function<std::string(std::uint32_t)>& text) const {
    const std::uint32_t opcode = words_[at] & 0xFFFF;
    const auto layout = layoutOf(opcode);
    const Wording wording = wordingOf(opcode);
    const std::size_t end = at + lengthAt(at);
    const std::uint32_t result = resultAt(at);
    std::string out = layout->hasResult ? text(result) + " = " : "";
    out += wording.name;
    if (layout->hasType) out += " " + text(words_[at + 1]);
    std::size_t next = at + 1 + (layout->hasType ? 1 : 0) + (layout->hasResult ? 1 : 0);
    const auto id = [&] { out += " " + text(words_[next++]); };
    const auto number = [&] { out += numbers(next, next + 1), ++next; };
    for (const char kind : wording.operands) {
      if (next >= end) break;
      if (kind == 'i') id();
      if (kind == 'n') number();
      if (kind == 'S') {
        const std::uint32_t type = words_[next] < types_.size() ? types_[words_[next]] : 0;
        const std::size_t width = type < bits_.size() && bits_[type] == 64 ? 2 : 1;
        id();
        while (next < end) {
          id();
          for (std::size_t i = 0; i < width && next < end; ++i) number();
        }
      }
      if (kind == 'M') {
        const bool isAligned = (words_[next] & kAligned) != 0;
        out += " memory";
        number();
        if (isAligned && next < end) number();
      }
      while (next < end && (kind == 'I' || kind == 'M')) id();
      while (next < end && kind == 'N') number();
    }
    while (next < end) number();  // more than the instruction has
    return result == 0 ? out : out + decorationsOf(result);
  }

  Words words_;
  std::vector<std::string> globals_;  // "" of what is none
  std::vector<std::uint32_t> types_;  // of values
  std::vector<std::uint8_t> bits_;    // of types of numbers
  std::unordered_map<std::uint32_t, std::string> kernels_, modes_, decorations_;
  std::unordered_set<std::uint32_t> variables_;
  std::vector<Function> functions_;
};

// Reads `bytes`, and calls `each` with the functions' names and places; callees before their callers.
Status eachFunction(
    std::string_view bytes,
    const std::function<void(std::size_t, const FunctionText&, const ModuleText&, const Function&,
                             const std::unordered_map<std::uint32_t, std::string>&)>& each) {
  KILN_TRY(check(bytes));
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  const ModuleText module(words);
  std::unordered_map<std::uint32_t, std::string> names;
  for (const std::size_t i : module.calleesFirst()) {
    const Function& function = module.functions()[i];
    Hasher hasher;
    module.write(function, names, [&](std::size_t, const std::string& line) {
      hasher.update(asBytes(line));
      hasher.update(asBytes("\n"));
    });
    const std::string* kernel = module.kernelName(function.id);
    FunctionText text{{}, kernel != nullptr, 4 * (function.end - function.begin), hasher.finish()};
    text.name = kernel ? *kernel : "function_" + text.digest.hex().substr(0, kDigits);
    each(i, text, module, function, names);
    names[function.id] = text.name;
  }
  return {};
}

}  // namespace

Result<std::vector<FunctionText>> functionsOf(std::string_view module) {
  std::map<std::size_t, FunctionText> found;
  KILN_TRY(eachFunction(module, [&](std::size_t i, const FunctionText& text, const ModuleText&,
                                    const Function&, const auto&) { found[i] = text; }));
  std::vector<FunctionText> out;
  for (auto& [i, text] : found) out.push_back(std::move(text));
  return out;
}

Result<std::vector<InstructionText>> instructionsOf(std::string_view module, std::string_view function,
                                                    std::size_t limit) {
  std::vector<InstructionText> out;
  bool found = false;
  KILN_TRY(eachFunction(module, [&](std::size_t, const FunctionText& text, const ModuleText& of,
                                    const Function& place, const auto& names) {
    if (found || text.name != function) return;
    found = true;
    of.write(place, names, [&](std::size_t word, std::string line) {
      if (out.size() >= limit) return;
      if (line.size() > kMaxLineBytes) line.replace(kMaxLineBytes - 3, std::string::npos, "...");
      out.push_back({4 * word, std::move(line)});
    });
  }));
  if (!found) return fail(Code::kNotFound, "has no function " + printable(std::string(function), 64));
  return out;
}

}  // namespace kiln::spirv
