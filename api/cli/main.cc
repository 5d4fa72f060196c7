// kiln: the command line of the farm and of nodes.
#include <sys/stat.h>

#include <csignal>

#include "api/cli/base/grpc_log.h"
#include "api/cli/base/limits.h"
#include "api/cli/base/print.h"
#include "api/cli/build/interrupt.h"
#include "api/cli/command_line.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"

int main(int argc, char** argv) {
  ::umask(::umask(077) | 022);  // what any command leaves is nobody else's to write
  return kiln::runMain("kiln", [&]() -> int {
    std::signal(SIGPIPE, SIG_IGN);  // what a reader that has gone away misses is lost output
    if (const auto enough = kiln::cli::checkLimits(); !enough) {
      kiln::cli::printError(enough.error(), false);
      return kiln::exitCodeOf(enough.error().code);
    }
    kiln::cli::takeGrpcLog();
    const kiln::cli::InterruptWatch watch;
    return kiln::cli::runCommandLine(argc, argv);
  });
}
