#include "api/cli/farm/doctor_farm.h"

#include <unistd.h>

#include <algorithm>

#include "api/client/shell_word.h"
#include "manifest/json/json.h"
#include "signing/keys/files.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kMaxServicesBytes = 1 << 20;

// The command lines of the coordinators, the first one first; none if nobody says what they are.
std::vector<std::vector<std::string>> coordinatorsOf(const std::string& farm) {
  const auto text = signing::readTextFile(farm + "/run/services.json", kMaxServicesBytes);
  const auto list = text ? parseJson(*text) : Result<Json>(fail(text.error()));
  if (!list || !list->is_object() || !list->contains("services") || !list->at("services").is_array())
    return {};
  std::vector<std::vector<std::string>> all;
  for (const Json& service : list->at("services")) {
    if (!service.is_object() || !service.contains("name") || !service.at("name").is_string()) continue;
    const auto name = service.at("name").get<std::string>();
    if (name != "coordinator" && !name.starts_with("coordinator-")) continue;
    std::vector<std::string>& words = all.emplace_back();
    if (service.contains("command") && service.at("command").is_array())
      for (const Json& word : service.at("command"))
        words.push_back(word.is_string() ? word.get<std::string>() : std::string());
  }
  return all;
}

std::string valueOf(const std::vector<std::string>& words, const char* option) {
  const auto at = std::ranges::find(words, option);
  return at == words.end() || at + 1 == words.end() ? std::string() : *(at + 1);
}

}  // namespace

void fillInFrom(const std::string& farm, Context& context) {
  const auto coordinators = coordinatorsOf(farm);
  if (coordinators.empty()) return;
  std::string endpoints;
  for (const auto& words : coordinators)
    if (const std::string one = valueOf(words, "--listen"); !one.empty())
      endpoints += (endpoints.empty() ? "" : ",") + one;
  if (context.endpoint.empty()) context.endpoint = endpoints;
  if (context.trustRoot.empty()) context.trustRoot = valueOf(coordinators[0], "--trust-root");
  if (context.policy.empty()) context.policy = valueOf(coordinators[0], "--policy");
}

std::string sourceOr(const std::string& farm, const std::string& otherwise) {
  const std::string variables = farm + "/kiln.env";
  const bool there = !farm.empty() && ::access(variables.c_str(), R_OK) == 0;
  return there ? ". " + client::shellPath(variables) : otherwise;
}

std::string upCommand(const std::string& farm) {
  return farm.empty() ? "infra/up" : "infra/up --dir " + client::shellPath(farm);
}

}  // namespace kiln::cli
