#include "manifest/json/error_line.h"

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"
#include "manifest/json/json.h"

namespace kiln {

std::string errorLine(const Error& error) {
  Json details = Json::object();
  if (!error.details.empty())
    if (auto parsed = parseJson(error.details)) details = std::move(*parsed);
  // A path in it need not be UTF-8, which JSON is.
  const std::string message =
      isUtf8(error.message) ? error.message : printable(error.message, std::string_view::npos);
  const Json line = {{"error", {{"code", codeName(error.code)}, {"message", message}, {"details", details}}}};
  auto text = toCanonicalJson(line);
  if (text) return *text;
  return R"({"error":{"code":"INTERNAL","details":{},"message":"the error has no canonical form"}})";
}

std::optional<Error> readErrorLine(std::string_view output) {
  while (!output.empty() && output.back() == '\n') output.remove_suffix(1);
  const std::size_t start = output.rfind('\n');
  auto json = parseStrictJson(start == std::string_view::npos ? output : output.substr(start + 1));
  if (!json || !json->is_object()) return {};
  const auto error = json->find("error");
  if (error == json->end() || !error->is_object()) return {};
  const auto text = [&](const char* name) {
    const auto member = error->find(name);
    return member != error->end() && member->is_string() ? member->get<std::string>() : std::string();
  };
  Error out{Code::kUnknown, text("message"), {}};
  const std::string code = text("code");
  for (int number = 1; number <= 16; ++number)
    if (codeName(static_cast<Code>(number)) == code) out.code = static_cast<Code>(number);
  if (const auto details = error->find("details"); details != error->end() && details->is_object())
    out.details = details->dump();
  return out;
}

}  // namespace kiln
