#include "api/cli/base/farm_contexts.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "api/cli/base/settings.h"
#include "manifest/base/durable_file.h"
#include "manifest/base/nearest.h"
#include "manifest/base/presence.h"
#include "manifest/base/printable.h"
#include "signing/keys/files.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kMaxFileBytes = 256 << 10, kMaxFarms = 100, kMaxNameBytes = 64, kMaxValueBytes = 4096,
                      kMaxMirrors = 16;
constexpr int kMaxDepth = 8, kVersion = 1;

Error wrong(const std::string& what) {
  return {Code::kInvalidArgument, what, {}};
}

const Setting* settingNamed(const std::string& member) {
  const auto found = std::ranges::find(settings(), member, &Setting::member);
  return found == settings().end() ? nullptr : &*found;
}

Result<FarmContext> readMirrors(const Json& list, FarmContext farm) {
  if (!list.is_array() || list.size() > kMaxMirrors)
    return fail(wrong("mirrors: must be a list of at most 16 URLs"));
  for (const Json& url : list) {
    if (!url.is_string()) return fail(wrong("mirrors: must be texts"));
    KILN_TRY(checkSetting("mirrors", url.get<std::string>()));
    farm.mirrors.push_back(url.get<std::string>());
  }
  return farm;
}

Result<FarmContext> readFarm(const Json& value) {
  if (!value.is_object()) return fail(wrong("must be an object"));
  FarmContext farm;
  for (const auto& [member, each] : value.items()) {
    if (member == "mirrors") {
      KILN_ASSIGN(farm, readMirrors(each, std::move(farm)));
      continue;
    }
    if (settingNamed(member) == nullptr) return fail(wrong(inQuotes(member) + " is no setting of a farm"));
    if (!each.is_string()) return fail(wrong(member + ": must be a text"));
    KILN_TRY(checkSetting(member, each.get<std::string>()));
    farm.settings[member] = each.get<std::string>();
  }
  return farm;
}

Result<FarmContexts> read(const std::string& text) {
  KILN_ASSIGN(const Json document, parseJson(text, {.bytes = kMaxFileBytes, .depth = kMaxDepth}));
  if (!document.is_object()) return fail(wrong("must be an object"));
  for (const auto& [member, value] : document.items())
    if (member != "version" && member != "current" && member != "contexts")
      return fail(wrong(inQuotes(member) + " is not known"));
  if (document.value("version", Json()) != kVersion)
    return fail(wrong("version: must be 1; a later kiln may have written this file"));
  FarmContexts out;
  const Json none = Json::object();
  const Json& farms = document.contains("contexts") ? document.at("contexts") : none;
  if (!farms.is_object() || farms.size() > kMaxFarms)
    return fail(wrong("contexts: must be an object of at most 100 farms"));
  for (const auto& [name, value] : farms.items()) {
    KILN_TRY(checkContextName(name));
    auto farm = readFarm(value);
    if (!farm) return fail(std::move(farm).error().in("contexts: " + name));
    out.farms[name] = std::move(*farm);
  }
  if (!document.contains("current")) return out;
  if (!document.at("current").is_string()) return fail(wrong("current: must be a text"));
  out.current = document.at("current").get<std::string>();
  if (!out.farms.contains(out.current))
    return fail(wrong("current: there is no context " + inQuotes(out.current)));
  return out;
}

std::string absoluteVariable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text == '/' ? text : "";
}

}  // namespace

std::string contextsPath() {
  // A relative path in them is to be ignored (XDG Base Directory Specification).
  if (const std::string home = absoluteVariable("XDG_CONFIG_HOME"); !home.empty())
    return home + "/kiln/config.json";
  const std::string home = absoluteVariable("HOME");
  return home.empty() ? "" : home + "/.config/kiln/config.json";
}

Result<std::string> contextsFile() {
  std::string path = contextsPath();
  if (path.empty())
    return fail(wrong("there is no place for named farms: set HOME or XDG_CONFIG_HOME to an absolute path"));
  return path;
}

Result<FarmContexts> loadContexts(const std::string& path) {
  if (path.empty()) return FarmContexts();
  if (const Status there = checkPresent(path); !there) {
    if (there.error().code == Code::kNotFound) return FarmContexts();
    return fail(there.error());
  }
  KILN_ASSIGN(const std::string text, signing::readTrustFile(path, kMaxFileBytes));
  auto contexts = read(text);
  if (!contexts) return fail(std::move(contexts).error().in(path));
  return contexts;
}

Status saveContexts(const std::string& path, const FarmContexts& contexts) {
  if (contexts.farms.size() > kMaxFarms)
    return fail(wrong("there are 100 farms already; kiln config remove NAME makes room"));
  Json farms = Json::object();
  for (const auto& [name, farm] : contexts.farms) farms[name] = toJson(farm);
  Json document = {{"version", kVersion}, {"contexts", std::move(farms)}};
  if (!contexts.current.empty()) document["current"] = contexts.current;
  return replaceFile(path, document.dump(2) + "\n", 0600);
}

Status checkContextName(const std::string& name) {
  constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyz0123456789";
  const auto isFit = [&](char c) {
    return kFirst.find(c) != std::string_view::npos || c == '-' || c == '.' || c == '_';
  };
  if (!name.empty() && name.size() <= kMaxNameBytes && kFirst.find(name[0]) != std::string_view::npos &&
      std::ranges::all_of(name, isFit))
    return {};
  return fail(wrong(inQuotes(name) +
                    " can name no context: lower case letters, digits and -._ do, at most 64, and a letter "
                    "or a digit first"));
}

Status checkSetting(const std::string& member, const std::string& value) {
  if (value.empty() || value.size() > kMaxValueBytes)
    return fail(wrong(member + ": must have 1 to 4096 bytes"));
  if (printable(value, std::string_view::npos) != value)
    return fail(wrong(member + ": holds characters that cannot be printed"));
  const Setting* setting = settingNamed(member);
  if (setting != nullptr && setting->isPath && !value.starts_with('/'))
    return fail(wrong(member + ": " + inQuotes(value) + " must be an absolute path"));
  return {};
}

Result<FarmContext> findContext(const FarmContexts& contexts, const std::string& name) {
  if (const auto found = contexts.farms.find(name); found != contexts.farms.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, farm] : contexts.farms) names.push_back(known);
  const std::string near = orNearest(name, names);
  return fail(Code::kNotFound, "there is no context " + inQuotes(name) + near + (near.empty() ? "; " : " ") +
                                   "kiln config list shows what there is, kiln config add NAME adds one");
}

Json toJson(const FarmContext& farm) {
  Json out = Json::object();
  for (const auto& [member, value] : farm.settings) out[member] = value;
  if (!farm.mirrors.empty()) out["mirrors"] = farm.mirrors;
  return out;
}

}  // namespace kiln::cli
