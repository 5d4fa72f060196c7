#include "manifest/json/json.h"

#include <vector>

#include "manifest/base/printable.h"

namespace kiln {
namespace {

// An iterator that tells how far the parser has read, so that errors of our own can name the byte.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  std::size_t* count = nullptr;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    if (count) ++*count;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
};

// Builds the value from parser events and refuses what nlohmann's own builder lets through.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(JsonLimits limits, bool strict, const std::size_t& position)
      : limits_(limits), strict_(strict), position_(position) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override {
    if (strict_ && value < -kMaxJsonInteger)
      return refuse("integer below -(2^53-1); write it as a decimal string");
    return put(value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (strict_ && value > static_cast<std::uint64_t>(kMaxJsonInteger))
      return refuse("integer above 2^53-1; write it as a decimal string");
    return put(value);
  }
  bool number_float(number_float_t value, const string_t&) override {
    if (strict_) return refuse("number with a fraction or exponent; use integers or decimal strings");
    return put(value);
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return refuse("binary value"); }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (strict_)
      for (unsigned char c : name)
        if (c >= 0x80) return refuse("member name with a character outside ASCII");
    if (stack_.back()->contains(name)) return refuse("duplicate member " + inQuotes(name));
    name_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception&) override {
    if (error_.empty()) error_ = "syntax error at byte " + std::to_string(position);
    return false;
  }

  const std::string& error() const { return error_; }
  Json take() { return std::move(root_); }

 private:
  bool refuse(const std::string& what) {
    error_ = what + " at byte " + std::to_string(position_);
    return false;
  }
  Json* place(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[name_] = std::move(value));
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (static_cast<int>(stack_.size()) >= limits_.depth)
      return refuse("nesting deeper than " + std::to_string(limits_.depth));
    stack_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  JsonLimits limits_;
  bool strict_;
  const std::size_t& position_;
  Json root_;
  std::vector<Json*> stack_;  // containers being filled; an element only grows while it is the last one
  std::string name_, error_;
};

Result<Json> parse(std::string_view text, JsonLimits limits, bool strict) {
  if (text.size() > limits.bytes)
    return fail(Code::kInvalidArgument, "JSON of " + std::to_string(text.size()) + " bytes; at most " +
                                            std::to_string(limits.bytes) + " are read");
  if (text.starts_with("\xEF\xBB\xBF"))
    return fail(Code::kInvalidArgument, "JSON: byte order mark at byte 0");
  // nlohmann's lexer takes a NUL for the end of the text, whatever follows.
  if (const auto nul = text.find('\0'); nul != text.npos)
    return fail(Code::kInvalidArgument, "JSON: NUL at byte " + std::to_string(nul));
  std::size_t position = 0;
  Builder builder(limits, strict, position);
  CountingIterator begin{text.data(), &position}, end{text.data() + text.size(), nullptr};
  if (!Json::sax_parse(begin, end, &builder)) return fail(Code::kInvalidArgument, "JSON: " + builder.error());
  return builder.take();
}

}  // namespace

Result<Json> parseJson(std::string_view text, JsonLimits limits) {
  return parse(text, limits, false);
}
Result<Json> parseStrictJson(std::string_view text, JsonLimits limits) {
  return parse(text, limits, true);
}

Result<Json> parseCanonicalJson(std::string_view text, JsonLimits limits) {
  KILN_ASSIGN(Json value, parseStrictJson(text, limits));
  KILN_ASSIGN(std::string canonical, toCanonicalJson(value));
  if (canonical != text) return fail(Code::kInvalidArgument, "JSON: not in canonical form");
  return value;
}

}  // namespace kiln
