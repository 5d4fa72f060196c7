// kiln-coordinator that kills itself when a job reaches the point named by KILN_DIE_AT: the same composition,
// the same flags. What follows after a restart of the real program is what fault tests look at.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "coordinator/server/command_line.h"
#include "coordinator/server/coordinator.h"

int main(int argc, char** argv) {
  kiln::server::Options options;
  if (auto exit = kiln::server::readCommandLine(argc, argv, options)) return *exit;
  const char* point = std::getenv("KILN_DIE_AT");
  std::string_view fatal = point ? point : "";
  kiln::Status status = kiln::server::run(options, [fatal](std::string_view reached) {
    if (reached == fatal) ::kill(::getpid(), SIGKILL);
  });
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
