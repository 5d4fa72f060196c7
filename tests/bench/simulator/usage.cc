#include "tests/bench/simulator/usage.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace kiln::fleet {
namespace {

// proc_pid_stat(5): utime, stime, cutime and cstime are the fields 14 to 17, in ticks; the second field may
// hold spaces and ends with the last ")".
struct Times {
  double own = 0, children = 0;  // seconds
};

Times timesOf(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return {};
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string word;
  for (int field = 3; field < 14; ++field) fields >> word;
  double user = 0, system = 0, childUser = 0, childSystem = 0;
  fields >> user >> system >> childUser >> childSystem;
  const double tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return {(user + system) / tick, (childUser + childSystem) / tick};
}

std::vector<int> childrenOf(int pid) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", pid));
  std::vector<int> out;
  for (int child; file >> child;) out.push_back(child);
  return out;
}

double living(int pid) {
  const Times times = timesOf(pid);
  double seconds = times.own + times.children;
  for (const int child : childrenOf(pid)) seconds += living(child);
  return seconds;
}

}  // namespace

ProcessUsage usageOf(int pid) {
  ProcessUsage out;
  out.cpuSeconds = timesOf(pid).own;
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string name, line; file >> name && std::getline(file, line);) {
    if (name == "VmRSS:") out.residentMiB = std::stod(line) / 1024;
    if (name == "RssAnon:") out.privateMiB = std::stod(line) / 1024;
    if (name == "Threads:") out.threads = std::stoi(line);
  }
  return out;
}

double cpuSecondsOfTree(int pid) {
  return living(pid);
}

}  // namespace kiln::fleet
