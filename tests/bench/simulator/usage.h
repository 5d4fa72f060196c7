// What processes take of the machine, from /proc.
#pragma once

namespace kiln::fleet {

struct ProcessUsage {
  double cpuSeconds = 0;  // user and system
  double residentMiB = 0;
  double privateMiB = 0;  // of that, memory that is no file's
  int threads = 0;
};

// All zero for a process that is not there.
ProcessUsage usageOf(int pid);
// Of a process and all that it has started, those that have ended included: a PostgreSQL server by its first
// process.
double cpuSecondsOfTree(int pid);

}  // namespace kiln::fleet
