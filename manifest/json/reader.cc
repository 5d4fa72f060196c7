#include "manifest/json/reader.h"

#include <charconv>
#include <cmath>

#include "manifest/base/printable.h"

namespace kiln {
namespace {

template <class T>
Result<T> parseNumber(std::string_view text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  // What is no number leaves 0, and what goes on after one is spelled otherwise.
  if (std::to_string(value) != text) return fail(Code::kInvalidArgument, "not a decimal 64-bit number");
  return value;
}

Result<double> parseFraction(const std::string& text, const std::string& place) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    return badMember(place, "must be a decimal number as a string, 0 or more");
  return value;
}

}  // namespace

tl::unexpected<Error> badMember(std::string_view place, std::string_view what) {
  return fail(Code::kInvalidArgument,
              std::string(place.empty() ? "document" : place) + ": " + std::string(what));
}

Result<std::uint64_t> parseDecimal(std::string_view text) {
  return parseNumber<std::uint64_t>(text);
}
Result<std::int64_t> parseSignedDecimal(std::string_view text) {
  return parseNumber<std::int64_t>(text);
}

Result<ObjectReader> ObjectReader::open(const Json& json, std::string place) {
  if (!json.is_object()) return badMember(place, "must be an object");
  return ObjectReader(json, std::move(place));
}

bool ObjectReader::has(std::string_view name) const {
  return json_->contains(name);
}

std::string ObjectReader::path(std::string_view name) const {
  return place_.empty() ? printable(name) : place_ + "." + printable(name);
}

Result<const Json*> ObjectReader::any(std::string_view name) {
  auto found = json_->find(name);
  if (found == json_->end()) return badMember(path(name), "missing");
  seen_.emplace(name);
  return &*found;
}

Result<const Json*> ObjectReader::array(std::string_view name) {
  KILN_ASSIGN(const Json* value, any(name));
  if (!value->is_array()) return badMember(path(name), "must be an array");
  return value;
}

Result<ObjectReader> ObjectReader::object(std::string_view name) {
  KILN_ASSIGN(const Json* value, any(name));
  return open(*value, path(name));
}

Result<std::string> ObjectReader::string(std::string_view name) {
  KILN_ASSIGN(const Json* value, any(name));
  if (!value->is_string()) return badMember(path(name), "must be a string");
  return *value->get_ptr<const std::string*>();
}

Result<bool> ObjectReader::boolean(std::string_view name) {
  KILN_ASSIGN(const Json* value, any(name));
  if (!value->is_boolean()) return badMember(path(name), "must be true or false");
  return *value->get_ptr<const bool*>();
}

Result<std::int64_t> ObjectReader::integer(std::string_view name, std::int64_t low, std::int64_t high) {
  KILN_ASSIGN(const Json* value, any(name));
  auto wrong = [&] {
    return badMember(path(name),
                     "must be an integer from " + std::to_string(low) + " to " + std::to_string(high));
  };
  if (!value->is_number_integer()) return wrong();
  if (const auto* large = value->get_ptr<const std::uint64_t*>(); large && *large > INT64_MAX) return wrong();
  auto number = value->get<std::int64_t>();
  if (number < low || number > high) return wrong();
  return number;
}

Result<std::uint64_t> ObjectReader::unsigned64(std::string_view name) {
  KILN_ASSIGN(const Json* value, any(name));
  auto wrong = [&] { return badMember(path(name), "must be a decimal string or an integer not below zero"); };
  if (const auto* text = value->get_ptr<const std::string*>()) {
    auto number = parseDecimal(*text);
    if (!number) return wrong();
    return *number;
  }
  if (!value->is_number_integer()) return wrong();
  if (!value->is_number_unsigned() && *value->get_ptr<const std::int64_t*>() < 0) return wrong();
  return value->get<std::uint64_t>();
}

Result<double> ObjectReader::decimal(std::string_view name) {
  KILN_ASSIGN(const std::string text, string(name));
  return parseFraction(text, path(name));
}

Result<std::vector<double>> ObjectReader::decimals(std::string_view name) {
  KILN_ASSIGN(const std::vector<std::string> texts, strings(name));
  std::vector<double> out;
  for (const std::string& text : texts) {
    KILN_ASSIGN(const double value, parseFraction(text, path(name) + "[" + std::to_string(out.size()) + "]"));
    out.push_back(value);
  }
  return out;
}

Result<std::vector<std::string>> ObjectReader::strings(std::string_view name) {
  KILN_ASSIGN(const Json* value, array(name));
  std::vector<std::string> out;
  for (const Json& element : *value) {
    if (!element.is_string())
      return badMember(path(name) + "[" + std::to_string(out.size()) + "]", "must be a string");
    out.push_back(*element.get_ptr<const std::string*>());
  }
  return out;
}

Result<Digest> ObjectReader::digest(std::string_view name) {
  KILN_ASSIGN(std::string text, string(name));
  KILN_ASSIGN(std::uint64_t size, unsigned64("size"));
  if (!text.starts_with("sha256:"))
    return badMember(path(name), "must be \"sha256:\" and 64 lowercase hex digits");
  auto digest = Digest::parse(text, size);
  if (!digest) return badMember(path(name), digest.error().message);
  return *digest;
}

Status ObjectReader::expect(std::string_view name, std::string_view expected) {
  KILN_ASSIGN(std::string value, string(name));
  if (value != expected) return badMember(path(name), "must be \"" + std::string(expected) + "\"");
  return {};
}

Status ObjectReader::finish() const {
  for (auto it = json_->begin(); it != json_->end(); ++it)
    if (!seen_.contains(it.key())) return badMember(path(it.key()), "unknown member");
  return {};
}

}  // namespace kiln
