// kiln-coordinator: takes jobs, hands work to workers, publishes what they built.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "coordinator/server/command_line.h"
#include "coordinator/server/coordinator.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"

namespace {

int run(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("kiln-coordinator"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %n %v", spdlog::pattern_time_type::utc);
  kiln::server::Options options;
  if (auto exit = kiln::server::readCommandLine(argc, argv, options)) return *exit;
  kiln::Status status = kiln::server::run(options, [](std::string_view) {});
  if (status) return 0;
  spdlog::error("{}", status.error().message);
  return kiln::exitCodeOf(status.error().code);
}

}  // namespace

int main(int argc, char** argv) {
  return kiln::runMain("kiln-coordinator", [&] { return run(argc, argv); });
}
