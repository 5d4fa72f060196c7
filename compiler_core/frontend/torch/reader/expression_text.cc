#include "compiler_core/frontend/torch/reader/expression_text.h"

#include <array>
#include <charconv>
#include <utility>

#include "manifest/base/printable.h"

namespace kiln::torch {
namespace {

constexpr std::size_t kMaxText = std::size_t{64} << 10;
constexpr int kMaxDepth = 64;

using Kind = Expression::Kind;
struct Function {
  std::string_view name;
  Kind kind;
  std::size_t least, most;
};
constexpr std::size_t kAny = ~std::size_t{0};
constexpr std::array<Function, 9> kFunctions = {{{"Add", Kind::kAdd, 1, kAny},
                                                 {"Mul", Kind::kMul, 1, kAny},
                                                 {"Max", Kind::kMax, 1, kAny},
                                                 {"Min", Kind::kMin, 1, kAny},
                                                 {"Pow", Kind::kPow, 2, 2},
                                                 {"FloorDiv", Kind::kFloorDiv, 2, 2},
                                                 {"CleanDiv", Kind::kFloorDiv, 2, 2},
                                                 {"Mod", Kind::kMod, 2, 2},
                                                 {"PythonMod", Kind::kMod, 2, 2}}};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Expression> whole() {
    KILN_ASSIGN(Expression out, expression(0));
    if (!rest().empty()) return malformed("nothing more");
    return out;
  }

 private:
  std::string_view rest() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return text_.substr(at_);
  }
  bool takes(char wanted) {
    if (!rest().starts_with(wanted)) return false;
    ++at_;
    return true;
  }
  tl::unexpected<Error> malformed(std::string_view wanted) const {
    return fail(Code::kInvalidArgument, "the expression " + inQuotes(text_) + ": " + std::string(wanted) +
                                            " is expected at character " + std::to_string(at_));
  }
  std::string_view word() {
    const std::string_view left = rest();
    std::size_t count = 0;
    auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    while (count < left.size() &&
           (isLetter(left[count]) || (count > 0 && left[count] >= '0' && left[count] <= '9')))
      ++count;
    at_ += count;
    return left.substr(0, count);
  }
  Result<std::int64_t> integer() {
    const std::string_view left = rest();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), value);
    if (error != std::errc()) return malformed("a whole number of 64 bits");
    at_ += static_cast<std::size_t>(end - left.data());
    return value;
  }
  Result<std::string> quoted() {
    if (!takes('\'')) return malformed("a name in quotes");
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos || end == at_ ||
        text_.substr(at_, end - at_).find('\\') != std::string_view::npos)
      return malformed("a name in quotes");
    std::string name(text_.substr(at_, end - at_));
    at_ = end + 1;
    return name;
  }

  // Symbol('s77', positive=True, integer=True): what is assumed of it is said by ranges too.
  Result<Expression> symbol() {
    KILN_ASSIGN(std::string name, quoted());
    while (takes(',')) {
      if (word().empty() || !takes('=') || word().empty())
        return malformed("an assumption such as integer=True");
    }
    if (!takes(')')) return malformed("')'");
    return Expression{Kind::kSymbol, 0, std::move(name), {}};
  }

  Result<Expression> expression(int depth) {
    if (depth > kMaxDepth) return malformed("no deeper nesting");
    const std::size_t begin = at_;
    const std::string_view left = rest();
    if (!left.empty() && (left[0] == '-' || (left[0] >= '0' && left[0] <= '9'))) {
      KILN_ASSIGN(const std::int64_t value, integer());
      return number(value);
    }
    const std::string_view name = word();
    if (name.empty()) return malformed("a function, a symbol or a number");
    if (!takes('(')) return Expression{Kind::kSymbol, 0, std::string(name), {}};
    if (name == "Symbol") return symbol();
    if (name == "Integer") {
      KILN_ASSIGN(const std::int64_t value, integer());
      if (!takes(')')) return malformed("')'");
      return number(value);
    }
    std::vector<Expression> operands;
    while (!takes(')')) {
      if (!operands.empty() && !takes(',')) return malformed("',' or ')'");
      KILN_ASSIGN(Expression operand, expression(depth + 1));
      operands.push_back(std::move(operand));
    }
    for (const Function& function : kFunctions)
      if (function.name == name && operands.size() >= function.least && operands.size() <= function.most)
        return Expression{function.kind, 0, {}, std::move(operands)};
    return Expression{Kind::kOther, 0, std::string(text_.substr(begin, at_ - begin)), {}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Expression> parseExpression(std::string_view text) {
  if (text.size() > kMaxText) return fail(Code::kInvalidArgument, "an expression of more than 64 KiB");
  return Parser(text).whole();
}

}  // namespace kiln::torch
