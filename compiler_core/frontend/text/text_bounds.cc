#include "compiler_core/frontend/text/text_bounds.h"

#include <cctype>
#include <string>

namespace kiln::frontend {
namespace {

constexpr int kMaxNesting = 256;
constexpr std::size_t kMaxWord = 4096;
constexpr std::size_t kMaxMap = 1024;
constexpr std::size_t kMaxBytes = (std::size_t{1} << 31) - 1;

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '-';
}

class Scan {
 public:
  Scan(std::string_view text, AffineMaps maps) : text_(text), maps_(maps) {}

  Status run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"')
        skipString();
      else if (text_.substr(at_, 2) == "//")
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (text_.substr(at_, 2) == "->")
        at_ += 2;
      else if (isWord(c))
        KILN_TRY(word());
      else
        KILN_TRY(bracket(c));
    }
    return {};
  }

 private:
  tl::unexpected<Error> refuse(std::string_view what) const {
    std::size_t line = 1, start = 0;
    for (std::size_t i = 0; i < at_; ++i) {
      if (text_[i] != '\n') continue;
      ++line;
      start = i + 1;
    }
    return fail(Code::kUnimplemented,
                std::to_string(line) + ":" + std::to_string(at_ - start + 1) + ": " + std::string(what));
  }

  void skipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return;
      }
    }
  }

  Status word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && isWord(text_[at_]) && text_.substr(at_, 2) != "->") ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.size() > kMaxWord) return refuse("a word or number longer than 4096 characters is not served");
    if (word == "affine_set" || (word == "affine_map" && maps_ == AffineMaps::kRefused))
      return refuse("affine maps are not served");
    if (word == "affine_map") return map();
    return {};
  }

  // Up to the bracket that ends it: the first that is no arrow's.
  Status map() const {
    std::size_t end = at_;
    do {
      end = text_.find('>', end + 1);
    } while (end != std::string_view::npos && text_[end - 1] == '-');
    if (std::min(end, text_.size()) - at_ <= kMaxMap) return {};
    return refuse("an affine map of more than " + std::to_string(kMaxMap) + " characters is not served");
  }

  Status bracket(char c) {
    ++at_;
    if (c == '\0') return refuse("the text has a NUL character, so it is none");
    if (c == '(' || c == '[' || c == '{' || c == '<') {
      angles_ += c == '<';
      if (++nesting_ > kMaxNesting)
        return refuse("brackets nested deeper than " + std::to_string(kMaxNesting) + " are not served");
    } else if (c == '>' ? angles_ > 0 : c == ')' || c == ']' || c == '}') {
      angles_ -= c == '>';
      if (nesting_ > 0) --nesting_;
    }
    return {};
  }

  std::string_view text_;
  AffineMaps maps_;
  std::size_t at_ = 0;
  int nesting_ = 0, angles_ = 0;
};

}  // namespace

Status checkTextBounds(std::string_view text, AffineMaps maps) {
  if (text.size() > kMaxBytes)
    return fail(Code::kUnimplemented, "text of more than 2 GiB is not served; give the program as bytecode");
  return Scan(text, maps).run();
}

}  // namespace kiln::frontend
