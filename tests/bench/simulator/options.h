// The options of bench_fleet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kiln::fleet {

struct Options {
  int workers = 200;
  int slots = 1;  // of each worker
  int queued = 1000;
  int coordinators = 1;
  int tenants = 4;
  int seconds = 10;       // that each phase is measured for
  double rate = 10;       // jobs a second that come to the idle fleet
  double runSeconds = 1;  // the median of what an action takes
  double spread = 1;      // the standard deviation of its logarithm
  std::string recorded;   // file of recorded jobs (job_mix.h); "": the stated distribution
  std::string programs;   // folder of kiln-coordinator, kiln-signer and kiln-log
  std::string quotas;     // quota file of the coordinators; "": none
  std::string json;       // file that receives the figures; "": none
  std::uint64_t seed = 1;
  bool noSync = false;  // PostgreSQL does not wait for the disk
};

// Fills `options`, or says with which exit code to end at once.
std::optional<int> readOptions(int argc, char** argv, Options& options);

}  // namespace kiln::fleet
