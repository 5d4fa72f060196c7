// kiln: the command line of the farm and of nodes.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "api/cli/commands.h"
#include "api/cli/exit_code.h"
#include "api/cli/print.h"

namespace {

// What is wrong with the command line, and whose --help tells more. An argument that nobody knows comes
// before one that is missing: it is the typing mistake that the other follows from.
std::string usageError(const CLI::App& app, const CLI::ParseError& error) {
  std::string command = "kiln";
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  std::string what = error.what();
  for (const std::string& unknown : app.remaining(true))
    if (unknown.starts_with("-") || command == "kiln") {
      what = unknown + " is not known";
      break;
    }
  return what + "; see " + command + " --help";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kiln::cli;
  std::signal(SIGPIPE, SIG_IGN);
  ::umask(::umask(077) | 022);  // what any command leaves is nobody else's to write
  CLI::App app("Kiln: builds AI models reproducibly, signs them, and runs what verifies.", "kiln");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("kiln ") + KILN_VERSION);
  app.footer(
      "Exit codes: 0 ok, 1 internal, 2 usage, 3 invalid model, 4 unsupported or over budget,\n"
      "5 verification failed, 6 not found, 7 unavailable, 8 denied, 9 not reproducible, 10 check failed.\n\n"
      "Example:\n  kiln build model.onnx --target cpu:x86-64-v3");
  Context context;
  context.terminal = ::isatty(STDERR_FILENO) == 1;
  addBuild(app, context);
  addInspect(app, context);
  addFetch(app, context);
  addVerify(app, context);
  addShow(app, context);
  addProvenance(app, context);
  addAffected(app, context);
  addAudit(app, context);
  addExport(app, context);
  addRebuild(app, context);
  addDiff(app, context);
  addWarmup(app, context);
  addCheck(app, context);
  addRun(app, context);
  addJobs(app, context);
  addWatch(app, context);
  addCancel(app, context);
  addWorkers(app, context);
  addToolchain(app, context);
  addAttest(app, context);
  addTrust(app, context);
  addLog(app, context);
  addRecall(app, context);
  addGc(app, context);
  addBackup(app, context);
  addRestore(app, context);
  addDoctor(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    printError({kiln::Code::kInvalidArgument, usageError(app, error), {}}, context.json);
    return kiln::kExitUsage;
  }
  context.readEnvironment();
  const auto done = context.command();
  if (done) return kiln::kExitOk;
  if (!context.reported) printError(done.error(), context.json);
  return exitCodeOf(done.error());
}
