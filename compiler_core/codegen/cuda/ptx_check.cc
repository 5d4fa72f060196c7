#include "compiler_core/codegen/cuda/ptx_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace kiln::codegen {
namespace {

constexpr std::size_t kShownBytes = 160;

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '.' || c == '%';
}

// The words of a line: directives, instructions and names; `rest` of an instruction is its operands.
std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    if (!isNameCharacter(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && isNameCharacter(line[end])) ++end;
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// "add.rn.f32" as add, rn, f32.
std::vector<std::string_view> partsOf(std::string_view instruction) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= instruction.size();) {
    const std::size_t end = std::min(instruction.find('.', at), instruction.size());
    parts.push_back(instruction.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool has(const std::vector<std::string_view>& parts, std::string_view part) {
  return std::ranges::find(parts, part) != parts.end();
}

bool isFloating(std::string_view type) {
  return type == "f16" || type == "f16x2" || type == "bf16" || type == "bf16x2" || type == "f32" ||
         type == "f32x2" || type == "f64";
}

// Why an instruction must not be there; "" if it may.
std::string_view wrongInstruction(std::string_view instruction) {
  const auto parts = partsOf(instruction);
  const std::string_view name = parts.front();
  if (name == "call") return "a call";
  if (name == "alloca" || name == "stacksave" || name == "stackrestore") return "a stack";
  if (has(parts, "local")) return "local memory";
  if (name == "atom" || name == "red") return "an atomic operation";
  if (has(parts, "approx") || has(parts, "full") || has(parts, "ftz")) return "an approximate operation";
  if (!isFloating(parts.back())) return {};
  const bool rounds = name == "add" || name == "sub" || name == "mul" || name == "mad" || name == "fma" ||
                      name == "div" || name == "sqrt" || name == "rcp";
  if (rounds && !has(parts, "rn")) return "an operation without a stated rounding";
  return {};
}

class Checker {
 public:
  explicit Checker(const std::set<std::string, std::less<>>& kernels) : kernels_(kernels) {}

  Status line(std::string_view text) {
    ++number_;
    text = text.substr(0, text.find("//"));
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      if (const std::string_view wrong = check(rest.substr(0, end)); !wrong.empty()) {
        // What is declared in front may be named together with the kernel that uses it.
        if (depth_ > 0) return refuse(wrong, text);
        if (outside_) outside_ = refuse(wrong, text);
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    depth_ +=
        static_cast<int>(std::ranges::count(text, '{')) - static_cast<int>(std::ranges::count(text, '}'));
    if (depth_ <= 0 && text.find('}') != std::string_view::npos) kernel_.clear();
    return {};
  }

  Status finish() const {
    KILN_TRY(outside_);
    for (const std::string& kernel : kernels_)
      if (!found_.contains(kernel))
        return fail(Code::kInternal, fmt::format("kernel {} is not in the PTX", kernel));
    return {};
  }

 private:
  // Why a statement must not be there; "" if it may.
  std::string_view check(std::string_view text) {
    if (const std::size_t label = text.find(':'); label != std::string_view::npos)
      text.remove_prefix(label + 1);
    const auto words = wordsOf(text);
    if (words.empty() || words.front() == ".param") return {};
    if (words.front().starts_with('.')) return checkDirective(text, words);
    // Behind a guard, "@%p1", stands the instruction.
    const std::size_t at = words.front().starts_with('%') ? 1 : 0;
    return at < words.size() ? wrongInstruction(words[at]) : std::string_view();
  }

  std::string_view checkDirective(std::string_view text, const std::vector<std::string_view>& words) {
    const auto word = [&](std::string_view what) { return std::ranges::find(words, what) != words.end(); };
    if (word(".extern") || word(".weak") || word(".common")) return "an external symbol";
    if (word(".func")) return "a function that is no kernel";
    if (word(".entry")) {
      const auto name = std::ranges::find(words, ".entry") + 1;
      if (name == words.end() || !kernels_.contains(*name)) return "an entry that is no kernel";
      if (!found_.emplace(*name).second) return "a second entry of this name";
      kernel_ = *name;
      return {};
    }
    if (word(".local")) return "local memory";
    if (word(".shared")) return sharedBuffer(text, words);
    if (word(".global") || word(".const"))
      return text.find('=') == std::string_view::npos ? "memory of its own" : "";
    return {};
  }

  std::string_view sharedBuffer(std::string_view text, const std::vector<std::string_view>& words) {
    constexpr std::string_view kSuffix = "_shared";
    // .shared .align N .b8 NAME [ BYTES ]; .shared .align N .f32 NAME for a part of one element. LLVM cuts a
    // buffer into parts that it numbers.
    const bool isArray = text.find('[') != std::string_view::npos;
    if (words.size() != (isArray ? 6 : 5)) return "shared memory of no static size";
    const std::string_view name = words[4];
    std::string_view whole = name.substr(0, name.rfind(kSuffix));
    if (whole.size() == name.size() || !kernels_.contains(whole) ||
        !isPart(name.substr(whole.size() + kSuffix.size())))
      return "shared memory that is no kernel's";
    if (!shared_.emplace(name).second) return "a second buffer of this name";
    return {};
  }

  // "", "_$_0", "_$_12"
  static bool isPart(std::string_view text) {
    constexpr std::string_view kMark = "_$_";
    if (text.empty()) return true;
    if (!text.starts_with(kMark)) return false;
    text.remove_prefix(kMark.size());
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  }

  Status refuse(std::string_view wrong, std::string_view text) const {
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    return fail(Code::kInternal,
                fmt::format("{}line {} of the PTX: {}: {}", kernel_.empty() ? "" : "kernel " + kernel_ + ", ",
                            number_, wrong, text.substr(begin, kShownBytes)));
  }

  const std::set<std::string, std::less<>>& kernels_;
  std::set<std::string, std::less<>> found_, shared_;
  Status outside_;  // the first that is wrong outside of kernels
  std::string kernel_;
  std::size_t number_ = 0;
  int depth_ = 0;
};

}  // namespace

Status checkPtx(std::string_view ptx, const std::set<std::string, std::less<>>& kernels) {
  Checker checker(kernels);
  while (!ptx.empty()) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size());
    KILN_TRY(checker.line(ptx.substr(0, end)));
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
  }
  return checker.finish();
}

}  // namespace kiln::codegen
