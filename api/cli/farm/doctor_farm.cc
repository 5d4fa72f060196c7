#include "api/cli/farm/doctor_farm.h"

#include <unistd.h>

#include <algorithm>

#include "api/client/shell_word.h"
#include "manifest/json/json.h"
#include "signing/keys/files.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kMaxServicesBytes = 1 << 20;

// The command line of the coordinator; empty if nobody says what it is.
std::vector<std::string> coordinatorOf(const std::string& farm) {
  const auto text = signing::readTextFile(farm + "/run/services.json", kMaxServicesBytes);
  const auto list = text ? parseJson(*text) : Result<Json>(fail(text.error()));
  if (!list || !list->is_object() || !list->contains("services") || !list->at("services").is_array())
    return {};
  for (const Json& service : list->at("services")) {
    if (!service.is_object() || !service.contains("name") || service.at("name") != "coordinator") continue;
    std::vector<std::string> words;
    if (service.contains("command") && service.at("command").is_array())
      for (const Json& word : service.at("command"))
        words.push_back(word.is_string() ? word.get<std::string>() : std::string());
    return words;
  }
  return {};
}

}  // namespace

void fillInFrom(const std::string& farm, Context& context) {
  const std::vector<std::string> words = coordinatorOf(farm);
  const auto fillIn = [&](std::string& setting, const char* option) {
    const auto at = std::ranges::find(words, option);
    if (setting.empty() && at != words.end() && at + 1 != words.end()) setting = *(at + 1);
  };
  fillIn(context.endpoint, "--listen");
  fillIn(context.trustRoot, "--trust-root");
  fillIn(context.policy, "--policy");
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
