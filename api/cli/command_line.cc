#include "api/cli/command_line.h"

#include "api/cli/artifact/commands.h"
#include "api/cli/audit/commands.h"
#include "api/cli/base/colour.h"
#include "api/cli/base/exit_code.h"
#include "api/cli/base/print.h"
#include "api/cli/build/commands.h"
#include "api/cli/config/commands.h"
#include "api/cli/farm/commands.h"
#include "api/cli/mirror/commands.h"
#include "api/cli/toolchain/commands.h"
#include "api/cli/trust/commands.h"
#include "manifest/base/nearest.h"
#include "manifest/base/usage.h"

namespace kiln::cli {
namespace {

// Every command, in the order of `kiln --help`.
constexpr void (*kCommands[])(CLI::App&, Context&) = {
    addBuild,        addInit,    addInspect,   addFetch,   addVerify,    addShow,   addProvenance,
    addAffected,     addAudit,   addExport,    addPush,    addRebuild,   addDiff,   addWarmup,
    addCheck,        addRun,     addArtifacts, addJobs,    addWatch,     addCancel, addLogs,
    addOpen,         addWorkers, addTop,       addConsole, addToolchain, addAttest, addTrust,
    addModelSigning, addLog,     addRecall,    addMirror,  addGc,        addBackup, addRestore,
    addDoctor,       addConfig};

bool anyCommand(const CLI::App* command) {
  return !command->get_name().empty();
}

std::vector<std::string> commandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(anyCommand)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> optionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// Whether the words ask for JSON, also where they cannot be parsed as far as that.
bool asksForJson(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") return false;
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

// The command that was asked for, or the group as far as it is known.
const CLI::App& askedFor(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string fullName(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : fullName(*app.get_parent()) + " " + app.get_name();
}

// An option, or a word in the place of a command, that nobody knows; "" if there is none.
std::string unknownWord(const CLI::App& app) {
  const CLI::App& at = askedFor(app);
  const bool wantsCommand = !at.get_subcommands(anyCommand).empty();
  for (const std::string& unknown : app.remaining(true)) {
    if (!unknown.starts_with("-") && !wantsCommand) continue;
    const std::string name = unknown.substr(0, unknown.find('='));
    return name + " is not known" + orNearest(name, name.starts_with("-") ? optionsOf(at) : commandsOf(at));
  }
  return {};
}

// What is wrong with the command line, and whose --help tells more. An argument that nobody knows comes
// before one that is missing: it is the typing mistake that the other follows from.
std::string usageError(const CLI::App& app, const std::string& otherwise) {
  const std::string unknown = unknownWord(app), what = unknown.empty() ? otherwise : unknown;
  return what + (what.ends_with('?') ? " See " : "; see ") + fullName(askedFor(app)) + " --help";
}

// "help COMMAND" asks for what "COMMAND --help" does.
std::vector<char*> withHelpLast(int argc, char** argv) {
  static char flag[] = "--help";
  std::vector<char*> words(argv, argv + argc);
  if (argc < 2 || std::string_view(argv[1]) != "help") return words;
  words.erase(words.begin() + 1);
  words.push_back(flag);
  return words;
}

// CLI11 wraps negative numbers around; "" if there is none.
std::string negativeValue(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->get_type_name().starts_with("UINT"))
      for (const std::string& value : option->results())
        if (value.starts_with('-')) return option->get_name() + ": must not be negative";
  for (const CLI::App* command : app.get_subcommands())
    if (std::string wrong = negativeValue(*command); !wrong.empty()) return wrong;
  return {};
}

int failed(const Context& context, const Error& error) {
  if (!context.reported) printError(error, context.json);
  return exitCodeOf(error);
}

}  // namespace

int runCommandLine(int argc, char** argv) {
  std::vector<char*> words = withHelpLast(argc, argv);
  argc = static_cast<int>(words.size());
  argv = words.data();
  CLI::App app("Kiln: builds AI models reproducibly, signs them, and runs what verifies.", "kiln");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("kiln ") + KILN_VERSION);
  app.footer(
      "Exit codes: 0 ok, 1 internal, 2 usage, 3 invalid model, 4 unsupported or over budget,\n"
      "5 verification failed, 6 not found, 7 unavailable, 8 denied, 9 not reproducible, 10 check failed,\n"
      "11 the job was cancelled.\n\n"
      "kiln help COMMAND is kiln COMMAND --help.\n\n"
      "An option without a value (--policy \"\") is refused; a variable that is empty counts as not set.\n\n"
      "Example:\n  kiln build model.onnx --target cpu:x86-64-v3");
  Context context;
  context.terminal = isLiveTerminal();
  for (const auto add : kCommands) add(app, context);
  // Before a command has read its own options, the words say whether the answer is to be JSON.
  const auto refused = [&](const Error& error) {
    context.json = asksForJson(argc, argv);
    return failed(context, error);
  };
  const auto usage = [&](std::string what) { return refused({Code::kInvalidArgument, std::move(what), {}}); };
  if (std::string wrong = emptyAssignment(argc, argv); !wrong.empty()) return usage(std::move(wrong));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    // The help of a command that is not there is not that of all commands.
    return unknownWord(app).empty() ? app.exit(success) : usage(usageError(app, {}));
  } catch (const CLI::ParseError& error) {
    return usage(usageError(app, error.what()));
  }
  if (std::string wrong = emptyValue(app); !wrong.empty()) return usage(std::move(wrong));
  if (std::string wrong = negativeValue(app); !wrong.empty()) return usage(std::move(wrong));
  const bool named = askedFor(app).get_option_no_throw("--context") != nullptr;
  if (Status fits = context.readSettings(named); !fits) return refused(fits.error());
  const Status done = context.command();
  return done ? static_cast<int>(kExitOk) : failed(context, done.error());
}

}  // namespace kiln::cli
