// The canonical writer.
#include <charconv>

#include "manifest/base/utf8.h"
#include "manifest/json/json.h"

namespace kiln {
namespace {

Status writeString(const std::string& text, std::string& out) {
  if (!isUtf8(text)) return fail(Code::kInvalidArgument, "canonical JSON: a string is not UTF-8");
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[c >> 4];
          out += kHex[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
  return {};
}

template <class T>
void writeInteger(T value, std::string& out) {
  char text[24];
  auto end = std::to_chars(text, text + sizeof text, value);
  out.append(text, end.ptr);
}

Status write(const Json& value, int depth, std::string& out) {
  if (value.is_structured() && depth >= JsonLimits{}.depth)
    return fail(Code::kInvalidArgument,
                "canonical JSON: nesting deeper than " + std::to_string(JsonLimits{}.depth));
  switch (value.type()) {
    case Json::value_t::null:
      out += "null";
      return {};
    case Json::value_t::boolean:
      out += *value.get_ptr<const bool*>() ? "true" : "false";
      return {};
    case Json::value_t::string:
      return writeString(*value.get_ptr<const std::string*>(), out);
    case Json::value_t::number_unsigned: {
      auto number = *value.get_ptr<const std::uint64_t*>();
      if (number > static_cast<std::uint64_t>(kMaxJsonInteger)) break;
      writeInteger(number, out);
      return {};
    }
    case Json::value_t::number_integer: {
      auto number = *value.get_ptr<const std::int64_t*>();
      if (number > kMaxJsonInteger || number < -kMaxJsonInteger) break;
      writeInteger(number, out);
      return {};
    }
    case Json::value_t::array: {
      out += '[';
      bool first = true;
      for (const Json& element : value) {
        if (!first) out += ',';
        first = false;
        KILN_TRY(write(element, depth + 1, out));
      }
      out += ']';
      return {};
    }
    case Json::value_t::object: {
      out += '{';
      bool first = true;
      for (auto it = value.begin(); it != value.end(); ++it) {  // std::map: already in byte order
        for (unsigned char c : it.key())
          if (c >= 0x80)
            return fail(Code::kInvalidArgument, "canonical JSON: member name with a character outside ASCII");
        if (!first) out += ',';
        first = false;
        KILN_TRY(writeString(it.key(), out));
        out += ':';
        KILN_TRY(write(it.value(), depth + 1, out));
      }
      out += '}';
      return {};
    }
    case Json::value_t::number_float:
      return fail(Code::kInvalidArgument,
                  "canonical JSON: floating-point number; use an integer or a decimal string");
    case Json::value_t::binary:
    case Json::value_t::discarded:
      return fail(Code::kInvalidArgument, "canonical JSON: not a JSON value");
  }
  return fail(Code::kInvalidArgument, "canonical JSON: integer beyond 2^53-1; write it as a decimal string");
}

}  // namespace

Result<std::string> toCanonicalJson(const Json& value) {
  std::string out;
  KILN_TRY(write(value, 0, out));
  return out;
}

}  // namespace kiln
