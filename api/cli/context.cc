#include "api/cli/context.h"

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

void addFarmOptions(CLI::App& command, Context& context) {
  command.add_option("--endpoint", context.endpoint, "The coordinator: unix:/path or host:port")
      ->envname("KILN_ENDPOINT");
  command.add_option("--instance", context.instance, "The tenant (default \"default\")")
      ->envname("KILN_INSTANCE");
}

void addTrustOptions(CLI::App& command, Context& context) {
  command.add_option("--trust-root", context.trustRoot, "root.json that names whose signatures count")
      ->envname("KILN_TRUST_ROOT");
  command.add_option("--policy", context.policy, "Policy document that the evidence must satisfy")
      ->envname("KILN_POLICY");
}

}  // namespace kiln::cli
