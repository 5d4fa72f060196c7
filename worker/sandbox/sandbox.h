// Sandbox: runs one command under a Policy in bubblewrap. The command sees its binds, a few device nodes and
// nothing else: no /proc, no /tmp, no network (unless the policy says so), no host file; it runs as an
// unprivileged host uid, as pid 1 of its own pid namespace, and nothing it started is alive when run()
// returns. What cannot be kept from it on any kernel: the vDSO clock and CPUID (rebuilds on other machines
// find their use).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "manifest/base/clock.h"
#include "worker/sandbox/cancel.h"
#include "worker/sandbox/cgroup.h"
#include "worker/sandbox/outputs.h"
#include "worker/sandbox/policy.h"

namespace kiln::sandbox {

// What the host offers.
struct Host {
  std::string bwrap = "/usr/bin/bwrap";
  CgroupHost cgroups;
  // First of the uids (and gids) that actions run under when the worker is root: slot n gets uidBase + n, so
  // slots cannot touch each other. An ordinary user's actions run under that user.
  std::uint32_t uidBase = 58800;
  bool ownPids = false;  // see canOwnPids() in launch.h

  // `state` is a directory that the caller has locked for itself, or "": the control groups of actions then
  // carry its name, and what an earlier process of that directory left in such groups is killed and removed.
  static Host detect(const std::string& state = {});
  // The uid that owns what an action of `slot` writes.
  std::uint32_t actionUid(int slot) const;
};

struct Bind {
  std::string hostPath;
  std::string path;  // inside; its parent exists or is made
  bool writable = false;
};

// A symbolic link directly below the root.
struct Link {
  std::string path;
  std::string target;
};

struct Command {
  std::vector<std::string> arguments;  // [0] is the program, absolute inside the sandbox
  // Exactly what the program gets, but for PWD, which bubblewrap sets to the working directory.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string workingDirectory = "/";
  std::vector<Bind> binds;      // in order; a later one may lie within an earlier one
  std::vector<Link> links;      // none may be where a bind is
  std::string outputDirectory;  // host path, watched against the output limits; empty: none
  Use before;                   // of outputDirectory when the command starts; it does not count
};

struct RunOptions {
  int slot = 0;
  Duration timeLimit{};  // the policy's wallSeconds if shorter or zero
  const Cancel* cancel = nullptr;
  std::function<void(std::string_view)> onErrorLine;  // each line of stderr, on the calling thread
};

enum class Termination { kExited, kTimedOut, kCancelled, kOutputLimit, kOutOfMemory };

struct RunResult {
  Termination termination = Termination::kExited;
  int exitCode = 0;  // as a shell reports it: 128 + n for signal n; meaningless when termination != kExited
  std::string why;   // for endings other than kExited: which limit, in words
  std::string out, err;  // bounded by the policy's logBytes
  Duration wallTime{};
  std::uint64_t peakMemoryBytes = 0;  // 0 where no control group tells
};

// Thread safe; each run() blocks its thread, which must not end before run() returns.
class Sandbox {
 public:
  // kInternal if the system-call filter cannot be built.
  static Result<Sandbox> make(Policy policy, Host host);

  // kFailedPrecondition, with bubblewrap's words, if the sandbox cannot be set up or the program not be
  // started.
  Result<RunResult> run(const Command& command, const RunOptions& options) const;

  const Policy& policy() const { return policy_; }
  const Host& host() const { return host_; }

 private:
  Sandbox(Policy policy, Host host, std::string filter)
      : policy_(std::move(policy)), host_(std::move(host)), filter_(std::move(filter)) {}

  Policy policy_;
  Host host_;
  std::string filter_;
};

}  // namespace kiln::sandbox
