// kiln-log that kills itself when an append reaches the point named by KILN_DIE_AT.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "signing/sequencer/log_server.h"

int main(int argc, char** argv) {
  kiln::signing::LogOptions options;
  if (auto exit = kiln::signing::readLogCommandLine(argc, argv, options)) return *exit;
  const char* point = std::getenv("KILN_DIE_AT");
  const std::string_view fatal = point ? point : "";
  kiln::Status status = kiln::signing::runLog(options, [fatal](std::string_view reached) {
    if (reached == fatal) ::kill(::getpid(), SIGKILL);
  });
  return status ? 0 : 1;
}
