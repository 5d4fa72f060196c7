// kiln: the command line of the farm and of nodes.
#include <csignal>

#include "api/cli/command_line.h"
#include "manifest/base/program.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // what a reader that has gone away misses is lost output
  return kiln::runMain("kiln", [&] { return kiln::cli::runCommandLine(argc, argv); });
}
