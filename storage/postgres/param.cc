#include "storage/postgres/param.h"

#include <fmt/core.h>

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"
#include "storage/postgres/rows.h"

namespace kiln::postgres {
namespace {

// PostgreSQL's array literal: every element quoted, quotes and backslashes escaped (manual, "Array Input and
// Output").
template <class Values, class Text>
std::string arrayLiteral(const Values& values, Text text) {
  std::string out = "{";
  for (const auto& value : values) {
    if (out.size() > 1) out += ',';
    out += '"';
    for (char c : text(value)) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + "}";
}

}  // namespace

Status Param::check() const {
  if (isBinary_) return {};
  const bool cut = text_.find('\0') != std::string::npos;
  if (!cut && isUtf8(text_)) return {};
  return fail(Code::kInvalidArgument,
              inQuotes(text_) + (cut ? " has a NUL" : " is not UTF-8") + ": no such text is stored here");
}

Param::Param(double value) : text_(fmt::format("{:.17g}", value)) {}

Param::Param(Bytes value)
    : text_(reinterpret_cast<const char*>(value.data()), value.size()), isBinary_(true) {}

Param::Param(TimePoint value) {
  if (value <= kEarliest || value >= kLatest) {
    text_ = value <= kEarliest ? "-infinity" : "infinity";
    return;
  }
  auto seconds = std::chrono::floor<std::chrono::seconds>(value);
  std::string whole = rfc3339(value);
  whole.pop_back();  // the Z
  text_ = fmt::format("{}.{:06}Z", whole, (value - seconds).count());
}

Param::Param(const std::vector<std::string>& values)
    : text_(arrayLiteral(values, [](const std::string& value) -> const std::string& { return value; })) {}

Param::Param(const std::vector<std::int64_t>& values)
    : text_(arrayLiteral(values, [](std::int64_t value) { return std::to_string(value); })) {}

Param::Param(const std::vector<std::vector<std::uint8_t>>& values)
    : text_(arrayLiteral(values,
                         [](const std::vector<std::uint8_t>& value) { return "\\x" + toHex(value); })) {}

}  // namespace kiln::postgres
