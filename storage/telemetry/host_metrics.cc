#include "storage/telemetry/host_metrics.h"

#include <prometheus/gauge.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kiln::telemetry {
namespace {

prometheus::Gauge& gauge(Registry& registry, const char* name, const char* help,
                         const prometheus::Labels& labels = {}) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

double secondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double cpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime);
}

// Field `number` of /proc/self/stat as proc(5) counts them, from 3 on; -1 if it is not to be had. The second
// one, the program's name, may hold spaces and parentheses.
double statField(int number) {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const auto name = text.rfind(')');
  if (name == std::string::npos) return -1;
  std::istringstream fields(text.substr(name + 1));
  std::string field;
  for (int at = 3; at <= number; ++at)
    if (!(fields >> field)) return -1;
  return std::strtod(field.c_str(), nullptr);
}

// Seconds since the epoch at which this machine started; -1 if it is not to be had.
double bootTime() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;)
    if (double seconds = 0; word == "btime" && file >> seconds) return seconds;
  return -1;
}

double openDescriptors() {
  std::error_code error;
  std::filesystem::directory_iterator open("/proc/self/fd", error);
  double count = 0;
  for (; !error && open != std::filesystem::directory_iterator(); open.increment(error)) ++count;
  return error ? -1 : count - 1;  // less the one that is read
}

void setKnown(prometheus::Gauge& gauge, double value) {
  if (value >= 0) gauge.Set(value);
}

}  // namespace

void addProcessMetrics(Registry& registry) {
  constexpr int kThreads = 20, kStart = 22, kResidentPages = 24;
  auto& cpu = prometheus::BuildCounter()
                  .Name("process_cpu_seconds_total")
                  .Help("CPU time of this process, in user and system mode")
                  .Register(registry)
                  .Add({});
  auto& memory = gauge(registry, "process_resident_memory_bytes", "Memory of this process that is resident");
  auto& open = gauge(registry, "process_open_fds", "File descriptors that are open");
  auto& threads = gauge(registry, "process_threads", "Threads of this process");
  auto& most = gauge(registry, "process_max_fds", "File descriptors that may be open");
  auto& started = gauge(registry, "process_start_time_seconds", "When this process started, since the epoch");
  const double boot = bootTime(), ticks = statField(kStart);
  if (boot >= 0 && ticks >= 0) started.Set(boot + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  registry.beforeCollect([&cpu, &memory, &open, &threads, &most] {
    raiseTo(cpu, cpuSeconds());
    setKnown(memory, statField(kResidentPages) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
    setKnown(open, openDescriptors());
    setKnown(threads, statField(kThreads));
    if (rlimit limit{}; ::getrlimit(RLIMIT_NOFILE, &limit) == 0)
      most.Set(static_cast<double>(limit.rlim_cur));
  });
}

void addDiskMetrics(Registry& registry, const std::string& name, std::string path) {
  const prometheus::Labels labels{{"directory", name}};
  auto& free = gauge(registry, "kiln_disk_free_bytes",
                     "Bytes that are free on the file system of a directory", labels);
  auto& size = gauge(registry, "kiln_disk_size_bytes", "Bytes of the file system of a directory", labels);
  registry.beforeCollect([&free, &size, path = std::move(path)] {
    struct statvfs found{};
    const bool known = ::statvfs(path.c_str(), &found) == 0;
    const auto unit = static_cast<double>(found.f_frsize);
    free.Set(known ? static_cast<double>(found.f_bavail) * unit : std::nan(""));
    size.Set(known ? static_cast<double>(found.f_blocks) * unit : std::nan(""));
  });
}

}  // namespace kiln::telemetry
