// kiln-log: holds the log key and sequences the log.
#include <cstdio>

#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "signing/sequencer/log_server.h"

namespace {

int run(int argc, char** argv) {
  kiln::signing::LogOptions options;
  if (auto exit = kiln::signing::readLogCommandLine(argc, argv, options)) return *exit;
  kiln::Status status = kiln::signing::runLog(options);
  if (!status) std::fprintf(stderr, "kiln-log: error: %s\n", status.error().message.c_str());
  return status ? kiln::kExitOk : kiln::exitCodeOf(status.error().code);
}

}  // namespace

int main(int argc, char** argv) {
  return kiln::runMain("kiln-log", [&] { return run(argc, argv); });
}
