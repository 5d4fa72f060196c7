#include "worker/sandbox/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "worker/sandbox/launch.h"
#include "worker/sandbox/seccomp_filter.h"
#include "worker/sandbox/supervise.h"

namespace kiln::sandbox {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> makePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return fail(errnoError(errno, "sandbox: pipe"));
  Pipe made{UniqueFd(fds[0]), UniqueFd(fds[1])};
  fcntl(made.read.get(), F_SETFL, O_NONBLOCK);
  return made;
}

Result<UniqueFd> filterFile(const std::string& program) {
  UniqueFd file(memfd_create("kiln-seccomp", MFD_CLOEXEC));
  if (!file || write(file.get(), program.data(), program.size()) != static_cast<ssize_t>(program.size()) ||
      lseek(file.get(), 0, SEEK_SET) != 0) {
    return fail(errnoError(errno, "sandbox: memfd"));
  }
  return file;
}

// Threads of all processes of `uid` now. RLIMIT_NPROC counts all of a user's, also those outside the sandbox.
std::uint64_t threadsOf(uid_t uid) {
  std::uint64_t count = 0;
  std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (!proc) return 0;
  while (const dirent* entry = readdir(proc.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    struct stat info{};
    const std::string tasks = std::string("/proc/") + entry->d_name + "/task";
    // The link count of task/ is 2 + its threads.
    if (stat(tasks.c_str(), &info) == 0 && info.st_uid == uid && info.st_nlink > 2)
      count += info.st_nlink - 2;
  }
  return count;
}

// Lets the action's user open a pipe that it has, by its name below /dev or /proc/self/fd.
Status giveTo(const Launch& plan, const Pipe& pipe) {
  if (geteuid() == 0 && fchown(pipe.write.get(), plan.uid, plan.gid) != 0)
    return fail(errnoError(errno, "sandbox: pipe"));
  return {};
}

std::vector<std::string> namespaceArguments(const Policy& policy) {
  std::vector<std::string> arguments = {"--unshare-user",
                                        "--unshare-pid",
                                        "--unshare-ipc",
                                        "--unshare-uts",
                                        "--unshare-cgroup",
                                        "--disable-userns",
                                        "--die-with-parent",
                                        "--as-pid-1",
                                        "--new-session",
                                        "--clearenv",
                                        "--cap-drop",
                                        "ALL",
                                        "--uid",
                                        std::to_string(policy.uid),
                                        "--gid",
                                        std::to_string(policy.gid),
                                        "--hostname",
                                        policy.hostName};
  if (!policy.network) arguments.push_back("--unshare-net");
  return arguments;
}

// What is the action's own beside its binds: nothing of it is there before or after.
std::vector<std::string> ownParts(const Policy& policy) {
  std::vector<std::string> arguments;
  if (policy.proc) arguments = {"--proc", "/proc"};
  for (const auto& [path, target] : policy.links)
    arguments.insert(arguments.end(), {"--symlink", target, path});
  if (policy.limits.tmpBytes != 0) {
    const std::string bytes = std::to_string(policy.limits.tmpBytes);
    arguments.insert(arguments.end(), {"--size", bytes, "--perms", "1777", "--tmpfs", "/tmp"});
  }
  return arguments;
}

}  // namespace

Host Host::detect(const std::string& state) {
  Host host;
  host.ownPids = canOwnPids();
  std::ifstream file("/proc/self/cgroup");
  std::stringstream text;
  text << file.rdbuf();
  host.cgroups = CgroupHost::detect("/sys/fs/cgroup", text.str(), state);
  return host;
}

std::uint32_t Host::actionUid(int slot) const {
  return geteuid() == 0 ? uidBase + static_cast<std::uint32_t>(slot) : geteuid();
}

Result<Sandbox> Sandbox::make(Policy policy, Host host) {
  KILN_ASSIGN(std::string filter, buildFilter(policy));
  return Sandbox(std::move(policy), std::move(host), std::move(filter));
}

Result<RunResult> Sandbox::run(const Command& command, const RunOptions& options) const {
  Launch plan;
  plan.program = host_.bwrap;
  plan.arguments = namespaceArguments(policy_);
  for (const auto& [name, value] : command.environment) {
    plan.arguments.insert(plan.arguments.end(), {"--setenv", name, value});
  }
  for (const Bind& bind : command.binds)
    plan.binds.push_back({bind.hostPath, bind.path, bind.writable, false});
  for (const std::string& device : policy_.devices) plan.binds.push_back({device, device, true, true});
  plan.tail = ownParts(policy_);
  for (const Link& link : command.links)
    plan.tail.insert(plan.tail.end(), {"--symlink", link.target, link.path});
  const std::vector<std::string> tail = {
      "--remount-ro", "/", "--chdir", command.workingDirectory, "--json-status-fd", "3",
      "--seccomp",    "4", "--"};
  plan.tail.insert(plan.tail.end(), tail.begin(), tail.end());
  plan.tail.insert(plan.tail.end(), command.arguments.begin(), command.arguments.end());
  plan.limits = policy_.limits;
  plan.ownPids = host_.ownPids;
  plan.uid = host_.actionUid(options.slot);
  plan.gid = geteuid() == 0 ? plan.uid : getegid();
  // As root each slot has a uid of its own, with nothing else running under it. bubblewrap itself needs two.
  plan.processLimit = policy_.limits.processes + 2 + (geteuid() == 0 ? 0 : threadsOf(plan.uid));

  static std::atomic<std::uint64_t> serial{0};
  KILN_ASSIGN(const auto cgroup, host_.cgroups.create(++serial, policy_.limits));
  for (const UniqueFd& procs : cgroup->procs()) plan.cgroups.push_back(procs.get());

  KILN_ASSIGN(Pipe out, makePipe());
  KILN_ASSIGN(Pipe err, makePipe());
  KILN_ASSIGN(Pipe status, makePipe());
  KILN_ASSIGN(const UniqueFd filter, filterFile(filter_));
  if (!policy_.links.empty()) {
    KILN_TRY(giveTo(plan, out));
    KILN_TRY(giveTo(plan, err));
  }
  plan.out = out.write.get();
  plan.err = err.write.get();
  plan.status = status.write.get();
  plan.filter = filter.get();
  KILN_ASSIGN(const pid_t pid, launch(plan));
  out.write.reset();
  err.write.reset();
  status.write.reset();

  Supervision watch;
  watch.bwrap = pid;
  watch.ownPids = host_.ownPids;
  watch.out = out.read.get();
  watch.err = err.read.get();
  watch.status = status.read.get();
  watch.limits = &policy_.limits;
  watch.outputDirectory = command.outputDirectory;
  watch.before = command.before;
  watch.cancel = options.cancel;
  watch.onErrorLine = options.onErrorLine;
  const Duration most = std::chrono::seconds(policy_.limits.wallSeconds);
  watch.timeLimit =
      options.timeLimit > Duration::zero() && options.timeLimit < most ? options.timeLimit : most;
  KILN_ASSIGN(RunResult result, supervise(watch));
  result.peakMemoryBytes = cgroup->peakMemory();
  if (result.termination == Termination::kExited && result.exitCode != 0 && cgroup->ranOutOfMemory()) {
    result.termination = Termination::kOutOfMemory;
    result.why = "more than " + std::to_string(policy_.limits.memoryBytes) + " bytes of memory";
  }
  return result;
}

}  // namespace kiln::sandbox
