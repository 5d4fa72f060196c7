#include "api/cli/context.h"

#include <cstdlib>

namespace kiln::cli {

Result<std::unique_ptr<client::Client>> Context::connect() const {
  client::ClientOptions options;
  options.endpoint = endpoint;
  options.instance = instance.empty() ? "default" : instance;
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
void Context::readEnvironment() {
  const auto fill = [](std::string& value, const char* variable) {
    const char* text = std::getenv(variable);
    if (value.empty() && text != nullptr) value = text;
  };
  fill(endpoint, "KILN_ENDPOINT");
  fill(instance, "KILN_INSTANCE");
  fill(trustRoot, "KILN_TRUST_ROOT");
  fill(policy, "KILN_POLICY");
  fill(recalls, "KILN_RECALLS");
}

void addFarmOptions(CLI::App& command, Context& context) {
  command.add_option("--endpoint", context.endpoint,
                     "The coordinator, unix:/path or host:port (default: $KILN_ENDPOINT)");
  command.add_option("--instance", context.instance, "The tenant (default: $KILN_INSTANCE or \"default\")");
}

void addTrustOptions(CLI::App& command, Context& context) {
  command.add_option("--trust-root", context.trustRoot,
                     "root.json that names whose signatures count (default: $KILN_TRUST_ROOT)");
  command.add_option("--policy", context.policy,
                     "Policy document that the evidence must satisfy (default: $KILN_POLICY)");
  command.add_option("--recalls", context.recalls,
                     "recalls.json that the root's recall keys signed (default: $KILN_RECALLS)");
}

}  // namespace kiln::cli
