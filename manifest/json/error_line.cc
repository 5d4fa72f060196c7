#include "manifest/json/error_line.h"

#include "manifest/json/json.h"

namespace kiln {

std::string errorLine(const Error& error) {
  Json details = Json::object();
  if (!error.details.empty())
    if (auto parsed = parseJson(error.details)) details = std::move(*parsed);
  const Json line = {
      {"error", {{"code", codeName(error.code)}, {"message", error.message}, {"details", details}}}};
  auto text = toCanonicalJson(line);
  if (text) return *text;
  return R"({"error":{"code":"INTERNAL","details":{},"message":"the error has no canonical form"}})";
}

}  // namespace kiln
