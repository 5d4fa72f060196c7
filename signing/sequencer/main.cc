// kiln-log: holds the log key and sequences the log.
#include <cstdio>

#include "signing/sequencer/log_server.h"

int main(int argc, char** argv) {
  kiln::signing::LogOptions options;
  if (auto exit = kiln::signing::readLogCommandLine(argc, argv, options)) return *exit;
  kiln::Status status = kiln::signing::runLog(options);
  if (!status) std::fprintf(stderr, "kiln-log: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
