// The context that every command shares: where the farm is, whom to trust, how to print.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/client/client.h"
#include "manifest/base/result.h"

namespace kiln::cli {

class Progress;

// What a command line names in words, or leaves to the environment and to a named farm (farm_contexts.h).
struct Context {
  std::string name;                  // --context, KILN_CONTEXT or the one in use; "" for none
  std::string endpoint;              // --endpoint, KILN_ENDPOINT
  std::string instance;              // --instance, KILN_INSTANCE
  std::string wait;                  // --wait, KILN_WAIT; the command's own default in their absence
  storage::ClientCredentials tls;    // --tls-ca, --tls-cert, --tls-key, --token-file and their variables
  std::string log;                   // --log: a URL or a directory
  std::vector<std::string> mirrors;  // --mirror, KILN_MIRRORS; "farm" among them stands for the endpoint
  std::string trustRoot;             // --trust-root, KILN_TRUST_ROOT
  std::string policy;                // --policy, KILN_POLICY
  std::string recalls;               // --recalls, KILN_RECALLS
  std::string http;                  // KILN_HTTP: the farm's HTTP side, where its log and its console are
  std::string recallKey;             // KILN_RECALL_KEY, for who signs recalls with a development farm's key
  std::string farm;       // kiln doctor --farm, KILN_FARM: the state folder of a farm on this machine
  bool json = false;      // --json
  bool terminal = false;  // stderr is a terminal: progress may rewrite its line
  bool reported = false;  // the command has printed its failure itself
  std::function<Status()> command;  // what the parsed command line asks for
  std::string defaultWait = "0s";   // for `wait`, from the command
  bool asksFarm = false;            // the command has --endpoint

  // Where a setting came from: "--endpoint", "KILN_ENDPOINT" or "context NAME". By the setting's member in a
  // named farm (settings.h); only those that are set.
  std::map<std::string, std::string> origins;
  std::string nameOrigin;  // the same of `name`

  // Fills in what the command line left out, from the environment and, where `named` (the command takes
  // --context), from a named farm: settings.h says which comes first. kInvalidArgument for credentials on the
  // command line that neither the endpoint, wherever it was named, nor the log has a use for; errors of the
  // file of named farms; kNotFound for a name that is not in it.
  Status readSettings(bool named);
  // For the next command of somebody who has this one's environment and named farms: --context where this
  // command line gave it, and those of `options` that say something else, as words of a shell that each
  // follow a space. "" for nothing.
  std::string carried(std::initializer_list<const char*> options) const;
  // A client that retries as long as the command's --wait says. What it waits for is told on stderr, below
  // what `progress` (which may be null, and else outlives the client) has drawn.
  Result<std::unique_ptr<client::Client>> connect(Progress* progress = nullptr) const;
  // The same retry policy for something else of the farm's: "the log".
  Result<client::RetryPolicy> retryPolicy(const char* whom) const;
};

// For addFarmOptions: a command that follows work which goes on without it rides out a restart of the farm.
inline constexpr const char* kRidesOut = "2m";
inline constexpr const char* kAtOnce = "0s";

// Adds a subcommand with `--json`; its help ends with `example`. `run` is called after parsing.
CLI::App& addCommand(CLI::App& parent, Context& context, const std::string& name, const std::string& what,
                     const std::string& example, std::function<Status()> run);
// --context, which every function below adds too.
void addContextOption(CLI::App& command, Context& context);
// The credentials of a command, which addFarmOptions() adds too.
void addTlsOptions(CLI::App& command, Context& context);
// The options by which a command finds the farm and how long it waits for it (`wait` if they do not say); how
// long alone; the trust root alone, with its recalls, and with the policy too.
inline constexpr const char* kFarmOptions[] = {"--endpoint", "--instance",   "--tls-ca", "--tls-cert",
                                               "--tls-key",  "--token-file", "--wait"};
void addFarmOptions(CLI::App& command, Context& context, const char* wait = kAtOnce);
void addWaitOption(CLI::App& command, Context& context, const char* wait = kAtOnce);
void addTrustRootOption(CLI::App& command, Context& context);
void addRootOptions(CLI::App& command, Context& context);
void addTrustOptions(CLI::App& command, Context& context);

}  // namespace kiln::cli
