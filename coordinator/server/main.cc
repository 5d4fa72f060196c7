// kiln-coordinator: takes jobs, hands work to workers, publishes what they built.
#include "coordinator/server/command_line.h"
#include "coordinator/server/coordinator.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "storage/logging/log.h"

namespace {

int run(int argc, char** argv) {
  kiln::server::Options options;
  if (auto exit = kiln::server::readCommandLine(argc, argv, options)) return *exit;
  kiln::logging::start("kiln-coordinator", kiln::logging::formatNamed(options.logFormat));
  kiln::Status status = kiln::server::run(options, [](std::string_view) {});
  if (status) return 0;
  kiln::logging::error(status.error().message, {});
  return kiln::exitCodeOf(status.error().code);
}

}  // namespace

int main(int argc, char** argv) {
  return kiln::runMain("kiln-coordinator", [&] { return run(argc, argv); });
}
