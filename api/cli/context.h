// What every command shares: where the farm is, whom to trust, how to print.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "api/client/client.h"
#include "manifest/base/result.h"

namespace kiln::cli {

struct Context {
  std::string endpoint;             // --endpoint, KILN_ENDPOINT
  std::string instance;             // --instance, KILN_INSTANCE
  std::string trustRoot;            // --trust-root, KILN_TRUST_ROOT
  std::string policy;               // --policy, KILN_POLICY
  std::string recalls;              // --recalls, KILN_RECALLS
  bool json = false;                // --json
  bool terminal = false;            // stderr is a terminal: progress may rewrite its line
  bool reported = false;            // the command has printed its failure itself
  std::function<Status()> command;  // what the parsed command line asks for

  // Fills in from the environment what the command line left out.
  void readEnvironment();
  Result<std::unique_ptr<client::Client>> connect() const;
};

// Adds a subcommand with `--json`; its help ends with `example`. `run` is called after parsing.
CLI::App& addCommand(CLI::App& parent, Context& context, const std::string& name, const std::string& what,
                     const std::string& example, std::function<Status()> run);
// The options by which a command finds the farm, and the trust root and policy.
void addFarmOptions(CLI::App& command, Context& context);
void addTrustOptions(CLI::App& command, Context& context);

}  // namespace kiln::cli
