// kiln-coordinator: takes jobs, hands work to workers, publishes what they built.
#include <string_view>

#include "coordinator/access_check/access_check.h"
#include "coordinator/server/command_line.h"
#include "coordinator/server/coordinator.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "storage/logging/log.h"

namespace {

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "check-access") {
    kiln::logging::start("kiln-coordinator");
    return kiln::access_check::checkAccess(argc - 1, argv + 1, kiln::SystemClock());
  }
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
