#include "api/cli/view/json_text.h"

#include <fmt/format.h>

#include "manifest/json/reader.h"

namespace kiln::cli {

std::string textOf(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) return "";
  const Json& value = object[name];
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json& listOf(const Json& object, const char* name) {
  static const Json none = Json::array();
  if (!object.is_object() || !object.contains(name) || !object[name].is_array()) return none;
  return object[name];
}

std::uint64_t countOf(const Json& object, const char* name) {
  return parseDecimal(textOf(object, name)).value_or(0);
}

std::string permilleOf(const Json& object, const char* name) {
  const std::string text = textOf(object, name);
  const auto number = parseDecimal(text);
  return number ? fmt::format("{}.{} %", *number / 10, *number % 10) : text;
}

std::string firstOf(const Json& object, const char* name, std::size_t most) {
  std::string out;
  const Json& items = listOf(object, name);
  for (std::size_t i = 0; i < items.size() && i < most; ++i)
    out += (i == 0 ? "" : ", ") + (items[i].is_string() ? items[i].get<std::string>() : items[i].dump());
  if (items.size() > most) out += fmt::format(" and {} more", items.size() - most);
  return out;
}

}  // namespace kiln::cli
