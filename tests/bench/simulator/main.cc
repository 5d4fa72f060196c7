// bench_fleet: see README.md. Prints figures, and passes or fails on none of them.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "tests/bench/simulator/experiment.h"

namespace kiln::fleet {
namespace {

// "  12.3" of the member at `path`, whose parts are separated by "/".
std::string number(const Json& figures, const std::string& path) {
  const Json::json_pointer at("/" + path);
  if (!figures.contains(at) || !figures.at(at).is_number()) return fmt::format("{:>10}", "-");
  return fmt::format("{:10.1f}", figures.at(at).get<double>());
}

void printPhase(const Json& figures, const std::string& phase, const std::string& what) {
  fmt::print("{}\n", what);
  const auto line = [&](const char* label, const std::string& path) {
    if (figures.contains(Json::json_pointer("/" + phase + "/" + path)))
      fmt::print("  {:<52}{}\n", label, number(figures, phase + "/" + path));
  };
  line("workers that were registered", "registered");
  line("threads of the coordinators", "coordinatorThreads");
  line("memory of the coordinators for each worker, KiB", "coordinatorKiBPerWorker");
  line("answered calls a second", "callsPerSecond");
  line("leases a second", "leasesPerSecond");
  line("from SubmitJob's answer to the lease, median ms", "dispatch/median");
  line("  99 of 100 within ms", "dispatch/p99");
  line("from a call to the lease that it brings, median ms", "lease/median");
  line("  99 of 100 within ms", "lease/p99");
  line("Jain's fairness index over the tenants", "fairness");
  line("workers of the coordinator that was killed", "workersOfTheKilled");
  line("  until they are answered again, median ms", "untilAnswered/median");
  line("  99 of 100 within ms", "untilAnswered/p99");
  line("  without an answer at the end", "workersStillWithoutAnswer");
  line("seconds until 80 % of the leases a second are back", "secondsUntilRateIsBack");
  for (const std::string process : {"coordinators", "postgres", "simulator"})
    fmt::print("  {:<52}{}{}\n", process + ": cores busy, and ms of CPU for each lease",
               fmt::format("{:10.2f}", figures[phase]["cpu"][process]["coresBusy"].get<double>()),
               number(figures, phase + "/cpu/" + process + "/perLease"));
  if (!figures[phase]["failedCalls"].empty())
    fmt::print("  calls that failed, by gRPC code                     {}\n",
               figures[phase]["failedCalls"].dump());
}

Json asked(const Options& options) {
  return {{"workers", options.workers},       {"slots", options.slots},
          {"queued", options.queued},         {"coordinators", options.coordinators},
          {"tenants", options.tenants},       {"rate", options.rate},
          {"runSeconds", options.runSeconds}, {"spread", options.spread},
          {"recorded", options.recorded},     {"durable", !options.noSync}};
}

Status measure(const Options& options, Json& figures) {
  KILN_ASSIGN(const JobMix mix, JobMix::make(options));
  Experiment experiment(options, mix);
  KILN_TRY(experiment.begin());
  fmt::print("{} workers of {} slot{}, {} coordinator{}, {} tenants, PostgreSQL {}\n", options.workers,
             options.slots, options.slots == 1 ? "" : "s", options.coordinators,
             options.coordinators == 1 ? "" : "s", mix.tenants().size(),
             options.noSync ? "that does not wait for the disk" : "with durable commits");
  const auto phase = [&](const char* name, Status (Experiment::*run)(), const std::string& what) -> Status {
    KILN_TRY((experiment.*run)());
    figures = experiment.figures();
    printPhase(figures, name, what);
    std::fflush(stdout);
    return {};
  };
  KILN_TRY(phase("idle", &Experiment::idle, "idle: nothing is queued, every worker's call is held"));
  KILN_TRY(
      phase("arrivals", &Experiment::arrivals,
            fmt::format("arrivals: {} jobs a second come to the idle fleet over SubmitJob", options.rate)));
  KILN_TRY(phase("backlog", &Experiment::backlog,
                 fmt::format("backlog: {} runs queued, written into the database below the RPCs, leased and "
                             "reported over them",
                             options.queued)));
  KILN_TRY(phase("death", &Experiment::death,
                 options.coordinators == 1
                     ? "death: kill -9 of the coordinator, which is started again at once"
                     : "death: kill -9 of one coordinator; the others take over"));
  KILN_TRY(experiment.account());
  figures = experiment.figures();
  fmt::print("leases by how they ended: {}\n", figures["attempts"].dump());
  return {};
}

int run(int argc, char** argv) {
  Options options;
  if (const auto exit = readOptions(argc, argv, options)) return *exit;
  Json figures = Json::object();
  const Status measured = measure(options, figures);
  figures["asked"] = asked(options);
  if (!options.json.empty() && !(std::ofstream(options.json) << figures.dump(2) << "\n")) {
    fmt::print(stderr, "bench_fleet: error: cannot write {}\n", options.json);
    return kExitUnavailable;
  }
  if (measured) return kExitOk;
  fmt::print(stderr, "bench_fleet: error: {}\n", measured.error().message);
  return exitCodeOf(measured.error().code);
}

}  // namespace
}  // namespace kiln::fleet

int main(int argc, char** argv) {
  return kiln::runMain("bench_fleet", [&] { return kiln::fleet::run(argc, argv); });
}
