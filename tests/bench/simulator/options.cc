#include "tests/bench/simulator/options.h"

#include <CLI/CLI.hpp>

#include "manifest/base/usage.h"

namespace kiln::fleet {

std::optional<int> readOptions(int argc, char** argv, Options& options) {
  CLI::App app(
      "Real coordinators and a real PostgreSQL under simulated workers: what a lease takes, and what happens "
      "when a coordinator dies.",
      "bench_fleet");
  options.programs = KILN_BIN;
  app.add_option("--workers", options.workers, "simulated workers")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--slots", options.slots, "actions that each runs at a time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--queued", options.queued, "runs that are queued when the backlog is worked off")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--coordinators", options.coordinators, "coordinator processes on one database")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  app.add_option("--tenants", options.tenants, "instances; the n-th has 1/n as much queued as the first")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "how long each phase is measured")
      ->check(CLI::Range(2, 3600))
      ->capture_default_str();
  app.add_option("--rate", options.rate, "jobs a second that come to the idle fleet")
      ->check(CLI::Range(0.1, 10'000.0))
      ->capture_default_str();
  app.add_option("--run-seconds", options.runSeconds, "median of what an action takes; log-normal")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  app.add_option("--spread", options.spread, "standard deviation of its logarithm")
      ->check(CLI::Range(0.0, 5.0))
      ->capture_default_str();
  app.add_option("--recorded", options.recorded,
                 "file of recorded jobs, TENANT PRIORITY SECONDS a line, instead of the stated distribution");
  app.add_option("--programs", options.programs, "folder of the farm's programs")->capture_default_str();
  app.add_option("--quotas", options.quotas, "quota file of the coordinators");
  app.add_option("--json", options.json, "file that receives the figures");
  app.add_option("--seed", options.seed, "of all that is drawn")->capture_default_str();
  app.add_flag("--no-sync", options.noSync, "PostgreSQL does not wait for the disk");
  app.footer("Example: bench_fleet --workers 1000 --queued 10000 --coordinators 2 --json figures.json");
  try {
    parseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  return std::nullopt;
}

}  // namespace kiln::fleet
