#include "api/cli/base/context.h"

#include "api/cli/base/duration_option.h"
#include "api/cli/base/print.h"
#include "api/cli/base/progress.h"

namespace kiln::cli {
namespace {

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

void addContextOption(CLI::App& command, Context& context) {
  if (command.get_option_no_throw("--context") != nullptr) return;
  command.add_option("--context", context.name,
                     "A farm that kiln config has named: what it says comes before the environment "
                     "(default: $KILN_CONTEXT, or the one in use, where nothing else names a farm)");
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
  addContextOption(command, context);
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
  addContextOption(command, context);
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
