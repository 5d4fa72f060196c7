// kiln: the command line of the farm and of nodes.
#include <sys/stat.h>

#include <csignal>

#include "api/cli/command_line.h"
#include "manifest/base/program.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // what a reader that has gone away misses is lost output
  ::umask(::umask(077) | 022);    // what any command leaves is nobody else's to write
  return kiln::runMain("kiln", [&] { return kiln::cli::runCommandLine(argc, argv); });
}
