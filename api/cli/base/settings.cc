#include "api/cli/base/settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "api/cli/base/farm_contexts.h"
#include "api/client/shell_word.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

constexpr Setting kSettings[] = {
    {"endpoint", "--endpoint", "KILN_ENDPOINT", "The coordinator, or several with commas between", false,
     false, true, [](Context& c) -> std::string& { return c.endpoint; }},
    {"instance", "--instance", "KILN_INSTANCE", "The tenant", false, false, true,
     [](Context& c) -> std::string& { return c.instance; }},
    {"http", "--http", "KILN_HTTP", "URL of the farm's HTTP side: its log, its console", false, false, true,
     [](Context& c) -> std::string& { return c.http; }},
    {"tlsCa", "--tls-ca", "KILN_TLS_CA", "Authorities of the farm's certificate, PEM", true, false, true,
     [](Context& c) -> std::string& { return c.tls.ca; }},
    {"tlsCert", "--tls-cert", "KILN_TLS_CERT", "This client's certificate, PEM", true, false, true,
     [](Context& c) -> std::string& { return c.tls.certificate; }},
    {"tlsKey", "--tls-key", "KILN_TLS_KEY", "Its private key, PEM: the file, mode 0600", true, true, true,
     [](Context& c) -> std::string& { return c.tls.key; }},
    {"tokenFile", "--token-file", "KILN_TOKEN_FILE", "A CI system's token: the file, mode 0600", true, true,
     true, [](Context& c) -> std::string& { return c.tls.token; }},
    {"trustRoot", "--trust-root", "KILN_TRUST_ROOT", "root.json that names whose signatures count", true,
     false, false, [](Context& c) -> std::string& { return c.trustRoot; }},
    {"policy", "--policy", "KILN_POLICY", "Policy document that the evidence must satisfy", true, false,
     false, [](Context& c) -> std::string& { return c.policy; }},
    {"recalls", "--recalls", "KILN_RECALLS", "recalls.json that the root's recall keys signed", true, false,
     false, [](Context& c) -> std::string& { return c.recalls; }},
    {"wait", "--wait", "KILN_WAIT", "How long to go on while the farm cannot be reached", false, false, false,
     [](Context& c) -> std::string& { return c.wait; }},
    {"recallKey", "--recall-key", "KILN_RECALL_KEY", "A recall key: the file, mode 0600", true, true, true,
     [](Context& c) -> std::string& { return c.recallKey; }},
    {"stateFolder", "--farm", "KILN_FARM", "State folder of a farm on this machine, for kiln doctor", true,
     false, true, [](Context& c) -> std::string& { return c.farm; }},
};

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// Every coordinator of the list is at a Unix socket.
bool isLocal(const std::string& endpoints) {
  const auto names = storage::splitEndpoints(endpoints);
  return names && std::ranges::all_of(*names, [](const auto& one) { return one.starts_with("unix:"); });
}

// The farm of `context.name`, and which that is where no option says; nothing where there is none.
Result<FarmContext> namedFarm(Context& context) {
  if (!context.name.empty()) {
    context.nameOrigin = "--context";
  } else if (context.name = variable("KILN_CONTEXT"); !context.name.empty()) {
    context.nameOrigin = "KILN_CONTEXT";
  }
  const std::string path = contextsPath();
  if (path.empty() && context.name.empty()) return FarmContext();
  KILN_ASSIGN(const FarmContexts known, loadContexts(path));
  if (context.name.empty() && !known.current.empty()) {
    context.name = known.current;
    context.nameOrigin = "kiln config use";
  }
  return context.name.empty() ? FarmContext() : findContext(known, context.name);
}

// Fills in what is not set yet.
void fill(Context& context, const Setting& setting, const std::string& value, const std::string& origin) {
  std::string& at = setting.value(context);
  if (!at.empty() || value.empty()) return;
  at = value;
  context.origins[setting.member] = origin;
}

void fillFromEnvironment(Context& context, bool ofFarm) {
  for (const Setting& setting : kSettings)
    if (ofFarm || !setting.isOfFarm) fill(context, setting, variable(setting.variable), setting.variable);
  if (const std::string text = variable("KILN_MIRRORS"); context.mirrors.empty() && !text.empty()) {
    std::istringstream words(text);
    context.mirrors.assign(std::istream_iterator<std::string>(words), {});
  }
}

void fillFromFarm(Context& context, const FarmContext& farm) {
  for (const Setting& setting : kSettings)
    if (const auto at = farm.settings.find(setting.member); at != farm.settings.end())
      fill(context, setting, at->second, "context " + context.name);
  if (context.mirrors.empty()) context.mirrors = farm.mirrors;
}

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

SettingFault faultOf(const Setting& setting, const std::string& value) {
  if (!setting.isPath || value.empty()) return {};
  struct stat status{};
  if (::stat(value.c_str(), &status) != 0)
    return {std::string(setting.member) + ": " + errnoError(errno, value).message,
            "put the file there, or name another"};
  if (setting.isSecret && (status.st_mode & 0077) != 0)
    return {std::string(setting.member) + ": others may read the secret in " + value,
            "run chmod 600 " + client::shellPath(value)};
  return {};
}

// Not CLI11's envname(): it applies the variables of every other subcommand's options too, after those given
// here.
Status Context::readSettings(bool named) {
  const std::pair<const char*, const std::string*> credentials[] = {{"--tls-ca", &tls.ca},
                                                                    {"--tls-cert", &tls.certificate},
                                                                    {"--tls-key", &tls.key},
                                                                    {"--token-file", &tls.token}};
  const auto given = std::ranges::find_if(credentials, [](const auto& one) { return !one.second->empty(); });
  for (const Setting& setting : kSettings)
    if (!setting.value(*this).empty()) origins[setting.member] = setting.option;
  const bool byOption = !name.empty();
  if (!byOption) fillFromEnvironment(*this, true);
  const bool otherFarm = !byOption && (!endpoint.empty() || !http.empty() || !farm.empty());
  if (named && !otherFarm) {
    KILN_ASSIGN(const FarmContext known, namedFarm(*this));
    fillFromFarm(*this, known);
  }
  if (byOption) fillFromEnvironment(*this, false);
  const auto isHttps = [](const std::string& url) { return url.starts_with("https:"); };
  const bool useful =
      !asksFarm || !isLocal(endpoint) || isHttps(log) || std::ranges::any_of(mirrors, isHttps);
  if (given == std::end(credentials) || useful) return {};
  return fail(Code::kInvalidArgument, std::string(given->first) + " is for host:port; at " +
                                          printable(endpoint) +
                                          " the file system says who may connect: leave it out");
}

std::string Context::carried(std::initializer_list<const char*> options) const {
  std::string out;
  if (nameOrigin == "--context") out += " " + client::shellOption("--context", name);
  Context copy = *this;
  for (const Setting& setting : kSettings) {
    const std::string& value = setting.value(copy);
    const auto from = origins.find(setting.member);
    const bool ofFarm = from != origins.end() && from->second.starts_with("context ");
    const bool known = ofFarm || value == variable(setting.variable);
    if (!known && std::ranges::find(options, std::string_view(setting.option)) != options.end())
      out += " " + client::shellOption(setting.option, value);
  }
  return out;
}

}  // namespace kiln::cli
