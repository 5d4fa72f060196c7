// kiln-isolated: runs an artifact's program in the workers' sandbox; kiln run --isolated starts it.
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "manifest/base/usage.h"
#include "manifest/json/error_line.h"
#include "worker/isolated/isolate.h"

namespace kiln::isolated {
namespace {

int run(int argc, char** argv) {
  Run run;
  bool inside = false;
  CLI::App app(
      "Runs an artifact's program in a process of its own that sees its artifact and inputs alone.\n"
      "example: kiln-isolated --artifact DIR --inputs DIR --outputs DIR",
      "kiln-isolated");
  app.add_option("--artifact", run.artifact, "a verified artifact directory")->required();
  app.add_option("--inputs", run.inputs, "0.npy, 1.npy, ... in the order of the inputs")->required();
  app.add_option("--outputs", run.outputs, "an empty directory for the outputs, numbered likewise")
      ->required();
  app.add_option("--threads", run.threads, "threads to run on (default: every processor)")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--each", run.each, "run once per element of the inputs' leading axis");
  app.add_flag("--checked", run.checked, "fail on an index outside its dimension");
  app.add_flag("--inside", inside, "this is the sandbox")->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  std::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no run outlives whoever asked for it
  const Status done = inside ? runInside(run) : runIsolated(run);
  if (done) return 0;
  std::fprintf(inside ? stderr : stdout, "%s\n", errorLine(done.error()).c_str());
  return exitCodeOf(done.error().code);
}

}  // namespace
}  // namespace kiln::isolated

int main(int argc, char** argv) {
  return kiln::runMain("kiln-isolated", [&] { return kiln::isolated::run(argc, argv); });
}
