#include "api/cli/base/context.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "api/cli/base/duration_option.h"
#include "api/cli/base/print.h"
#include "api/cli/base/progress.h"
#include "api/client/shell_word.h"
#include "manifest/base/printable.h"

namespace kiln::cli {

namespace {

// Calls `visit` with each option that a variable stands in for, the variable, and the value.
template <class Shared, class Visit>
void eachSetting(Shared& context, Visit visit) {
  visit("--endpoint", "KILN_ENDPOINT", context.endpoint);
  visit("--instance", "KILN_INSTANCE", context.instance);
  visit("--wait", "KILN_WAIT", context.wait);
  visit("--tls-ca", "KILN_TLS_CA", context.tls.ca);
  visit("--tls-cert", "KILN_TLS_CERT", context.tls.certificate);
  visit("--tls-key", "KILN_TLS_KEY", context.tls.key);
  visit("--token-file", "KILN_TOKEN_FILE", context.tls.token);
  visit("--trust-root", "KILN_TRUST_ROOT", context.trustRoot);
  visit("--policy", "KILN_POLICY", context.policy);
  visit("--recalls", "KILN_RECALLS", context.recalls);
}

// Every coordinator of the list is at a Unix socket.
bool isLocal(const std::string& endpoints) {
  const auto names = storage::splitEndpoints(endpoints);
  return names && std::ranges::all_of(*names, [](const auto& one) { return one.starts_with("unix:"); });
}

// Tells on stderr what is waited for.
client::RetryPolicy::Listener teller(const std::string& whom, const std::string& limit, Progress* progress) {
  return {[=](const Error& why) {
            if (progress != nullptr) progress->leave();
            note("kiln: waiting up to " + limit + " for " + whom + " (--wait): " + why.message);
          },
          [=] {
            if (progress != nullptr) progress->leave();
            note("kiln: " + whom + " answers again");
          }};
}

}  // namespace

Result<client::RetryPolicy> Context::retryPolicy(const char* whom) const {
  const std::string limit = wait.empty() ? defaultWait : wait;
  KILN_ASSIGN(const auto longest, parseWait(limit));
  return client::RetryPolicy(longest, teller(whom, limit, nullptr));
}

Result<std::unique_ptr<client::Client>> Context::connect(Progress* progress) const {
  const std::string limit = wait.empty() ? defaultWait : wait;
  client::ClientOptions options;
  options.endpoint = endpoint;
  options.instance = instance.empty() ? "default" : instance;
  options.credentials = tls;
  KILN_ASSIGN(options.retryTimeout, parseWait(limit));
  options.waiting = teller("the farm", limit, progress);
  options.movedOn = [progress](const std::string& from, const std::string& to) {
    if (progress != nullptr) progress->leave();
    note("kiln: the coordinator at " + from + " does not answer; the one at " + to + " does");
  };
  return client::Client::open(std::move(options));
}

CLI::App& addCommand(CLI::App& parent, Context& context, const std::string& name, const std::string& what,
                     const std::string& example, std::function<Status()> run) {
  CLI::App& command = *parent.add_subcommand(name, what);
  command.footer("Example:\n  " + example);
  command.add_flag("--json", context.json, "Print JSON");
  command.callback([&context, run = std::move(run)] { context.command = run; });
  return command;
}

// Not CLI11's envname(): it applies the variables of every other subcommand's options too, after those given
// here.
Status Context::readEnvironment() {
  const std::pair<const char*, const std::string*> credentials[] = {{"--tls-ca", &tls.ca},
                                                                    {"--tls-cert", &tls.certificate},
                                                                    {"--tls-key", &tls.key},
                                                                    {"--token-file", &tls.token}};
  const auto given = std::ranges::find_if(credentials, [](const auto& one) { return !one.second->empty(); });
  eachSetting(*this, [](const char*, const char* variable, std::string& value) {
    const char* text = std::getenv(variable);
    if (value.empty() && text != nullptr) value = text;
  });
  if (const char* text = std::getenv("KILN_MIRRORS"); mirrors.empty() && text != nullptr) {
    std::istringstream words(text);
    mirrors.assign(std::istream_iterator<std::string>(words), {});
  }
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
  eachSetting(*this, [&](std::string_view option, const char* variable, const std::string& value) {
    const char* text = std::getenv(variable);
    const bool known = value == (text != nullptr ? text : "");
    if (!known && std::ranges::find(options, option) != options.end())
      out += " " + client::shellOption(option, value);
  });
  return out;
}

void addFarmOptions(CLI::App& command, Context& context, const char* wait) {
  command.add_option(
      "--endpoint", context.endpoint,
      "The coordinator, unix:/path or host:port, or several of one farm with commas between: the "
      "first that answers is used (default: $KILN_ENDPOINT)");
  command.add_option("--instance", context.instance,
                     "The tenant (default: $KILN_INSTANCE or \"default\"); one that is not there is exit 6");
  addTlsOptions(command, context);
  addWaitOption(command, context, wait);
  command.preparse_callback([&context, wait](std::size_t) {
    context.defaultWait = wait;
    context.asksFarm = true;
  });
}

void addTlsOptions(CLI::App& command, Context& context) {
  command.add_option(
      "--tls-ca", context.tls.ca,
      "Authorities of the certificate of the coordinator at host:port or of a log behind https, "
      "PEM (default: $KILN_TLS_CA)");
  command.add_option("--tls-cert", context.tls.certificate,
                     "This client's certificate, PEM (default: $KILN_TLS_CERT)");
  command.add_option("--tls-key", context.tls.key,
                     "Its private key, PEM, mode 0600 (default: $KILN_TLS_KEY)");
  command.add_option("--token-file", context.tls.token,
                     "A CI system's token, mode 0600, instead of a certificate (default: $KILN_TOKEN_FILE)");
}

void addWaitOption(CLI::App& command, Context& context, const char* wait) {
  command.add_option(
      "--wait", context.wait,
      std::string("How long to go on while the farm cannot be reached or restarts, such as 10m; "
                  "0s: not at all (default: $KILN_WAIT or ") +
          wait + ")");
  command.preparse_callback([&context, wait](std::size_t) { context.defaultWait = wait; });
}

void addTrustRootOption(CLI::App& command, Context& context) {
  command.add_option("--trust-root", context.trustRoot,
                     "root.json that names whose signatures count (default: $KILN_TRUST_ROOT)");
}

void addRootOptions(CLI::App& command, Context& context) {
  addTrustRootOption(command, context);
  command.add_option("--recalls", context.recalls,
                     "recalls.json that the root's recall keys signed (default: $KILN_RECALLS)");
}

void addTrustOptions(CLI::App& command, Context& context) {
  addRootOptions(command, context);
  command.add_option("--policy", context.policy,
                     "Policy document that the evidence must satisfy (default: $KILN_POLICY)");
}

}  // namespace kiln::cli
