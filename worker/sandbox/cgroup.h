// Memory and process limits for a whole action through control groups, version 1 or 2, where the host lets us
// make one. Source: the kernel's Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "manifest/base/file.h"
#include "manifest/base/result.h"
#include "worker/sandbox/policy.h"

namespace kiln::sandbox {

// The control groups of one action. Destroying it kills what is left inside and removes them.
class Cgroup {
 public:
  Cgroup(std::vector<std::string> dirs, std::vector<UniqueFd> procs)
      : dirs_(std::move(dirs)), procs_(std::move(procs)) {}
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();

  // Files into which a process writes "0" to enter. Usable between fork and exec.
  const std::vector<UniqueFd>& procs() const { return procs_; }
  // Highest memory use in bytes; 0 if unknown.
  std::uint64_t peakMemory() const;
  // Whether the kernel killed something inside for want of memory.
  bool ranOutOfMemory() const;

 private:
  std::vector<std::string> dirs_;
  std::vector<UniqueFd> procs_;
};

// Where this process may make control groups. Copyable; thread safe.
class CgroupHost {
 public:
  // Looks at `root` ("/sys/fs/cgroup") and the text of /proc/self/cgroup; makes and removes a trial group,
  // and removes the empty groups of processes that are gone. On version 2 this process moves itself into a
  // leaf if its own group must be opened for children. `state`: as of Host::detect().
  static CgroupHost detect(const std::string& root, const std::string& selfCgroup,
                           const std::string& state = {});
  static CgroupHost none() { return {}; }

  bool memory() const { return !memoryDir_.empty(); }
  bool processes() const { return !pidsDir_.empty(); }
  // "cgroup v1: memory, pids" or "none".
  std::string describe() const;
  // kInternal if the groups cannot be made or limited. They are called "kiln-PID-`serial`", with "-STATE"
  // behind it if there is a state directory; a serial is used once by a process.
  Result<std::unique_ptr<Cgroup>> create(std::uint64_t serial, const Limits& limits) const;

 private:
  int version_ = 0;
  std::string memoryDir_, pidsDir_;  // parents; the same directory on version 2
  std::string suffix_;               // "-STATE" or nothing
};

}  // namespace kiln::sandbox
