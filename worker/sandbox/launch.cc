#include "worker/sandbox/launch.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace kiln::sandbox {
namespace {

// Where the child of a root worker gathers its bind sources, in a mount namespace that nobody else sees. The
// directory itself only has to exist.
constexpr const char* kGather = "/tmp";
constexpr std::size_t kMaxBinds = 32;

// Everything the child needs, prepared before fork: after it, in a program with threads, only
// async-signal-safe calls are allowed.
struct Prepared {
  std::vector<std::string> strings;
  std::vector<char*> argv;
  std::array<char*, 1> environment = {nullptr};
  std::vector<std::string> gathered;  // kGather/0, kGather/1, ...
};

[[noreturn]] void die(const char* what) {
  const char* reason = strerrordesc_np(errno);
  for (const char* part : {"sandbox: ", what, ": ", reason == nullptr ? "unknown error" : reason, "\n"}) {
    if (write(2, part, strlen(part)) < 0) break;
  }
  _exit(127);
}

void limit(__rlimit_resource resource, std::uint64_t value) {
  const rlimit both{value, value};
  if (setrlimit(resource, &both) == 0) return;
  // An ordinary user cannot rise above the hard limit it was given; the lower one then holds.
  rlimit now{};
  if (errno != EPERM || getrlimit(resource, &now) != 0 || now.rlim_max > value) die("setrlimit");
  now.rlim_cur = now.rlim_max;
  setrlimit(resource, &now);
}

void setLimits(const Launch& plan) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_AS, plan.limits.addressSpaceBytes);
  limit(RLIMIT_STACK, plan.limits.stackBytes);
  limit(RLIMIT_NOFILE, plan.limits.openFiles);
  limit(RLIMIT_FSIZE, plan.limits.fileBytes);
  limit(RLIMIT_CPU, plan.limits.cpuSeconds);
  limit(RLIMIT_NPROC, plan.processLimit);
  limit(RLIMIT_MEMLOCK, 64 << 10);
  limit(RLIMIT_MSGQUEUE, 0);
  limit(RLIMIT_RTPRIO, 0);
}

// Root only. EPERM (a container without CAP_SYS_ADMIN) leaves the sources where they are; bubblewrap then
// says which it cannot reach.
bool gather(const Launch& plan, const Prepared& prepared) {
  if (unshare(CLONE_NEWNS) != 0) {
    if (errno == EPERM) return false;
    die("unshare of the mount namespace");
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) die("mount --make-rprivate /");
  std::array<int, kMaxBinds> fds{};
  for (std::size_t i = 0; i < plan.binds.size(); ++i) {
    fds[i] = open(plan.binds[i].source.c_str(), O_PATH | O_CLOEXEC);
    if (fds[i] < 0) die(plan.binds[i].source.c_str());
  }
  if (mount("kiln", kGather, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") != 0)
    die("mount of a tmpfs");
  for (std::size_t i = 0; i < plan.binds.size(); ++i) {
    // "/proc/self/fd/" and up to ten digits.
    char source[32] = "/proc/self/fd/";
    char digits[12];
    int count = 0, rest = fds[i];
    do digits[count++] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    for (std::size_t at = strlen(source); count > 0;) source[at++] = digits[--count];
    struct stat info{};
    if (fstat(fds[i], &info) != 0) die(plan.binds[i].source.c_str());
    const char* target = prepared.gathered[i].c_str();
    if (S_ISDIR(info.st_mode) ? mkdir(target, 0755) != 0 : mknod(target, S_IFREG | 0644, 0) != 0) die(target);
    if (mount(source, target, nullptr, MS_BIND, nullptr) != 0) die(plan.binds[i].source.c_str());
  }
  return true;
}

void becomeUser(const Launch& plan) {
  if (setgroups(0, nullptr) != 0) die("setgroups");
  if (setresgid(plan.gid, plan.gid, plan.gid) != 0) die("setresgid");
  if (setresuid(plan.uid, plan.uid, plan.uid) != 0) die("setresuid");
}

void resetSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
}

// Puts `fds` at 0, 1, 2, ... and marks every other descriptor to be closed by exec.
void arrangeDescriptors(const Launch& plan) {
  std::array<int, 5> fds = {open("/dev/null", O_RDONLY | O_CLOEXEC), plan.out, plan.err, plan.status,
                            plan.filter};
  for (int& fd : fds) {
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 64);
    if (fd < 0) die("descriptors");
  }
  for (std::size_t i = 0; i < fds.size(); ++i) {
    if (dup2(fds[i], static_cast<int>(i)) < 0) die("descriptors");
  }
  if (close_range(fds.size(), ~0U, CLOSE_RANGE_CLOEXEC) != 0) die("close_range");
}

[[noreturn]] void child(const Launch& plan, Prepared& prepared, std::size_t firstBind, pid_t parent) {
  resetSignals();
  setpgid(0, 0);
  umask(022);
  for (const int fd : plan.cgroups) {
    if (write(fd, "0", 1) != 1) die("entering the control group");
  }
  arrangeDescriptors(plan);
  // Best effort: when the host runs out of memory, an action goes before the farm does.
  if (const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    if (write(fd, "500", 3) != 3) errno = 0;
  }
  if (personality(ADDR_NO_RANDOMIZE) < 0) die("personality");
  if (geteuid() == 0) {
    if (gather(plan, prepared)) {
      for (std::size_t i = 0; i < plan.binds.size(); ++i) {
        prepared.argv[firstBind + 3 * i + 1] = prepared.gathered[i].data();
      }
    }
    setLimits(plan);
    becomeUser(plan);
  } else {
    setLimits(plan);
  }
  // Cleared by the change of uid, so set here; bubblewrap sets its own later.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) die("the worker is gone");
  execve(plan.program.c_str(), prepared.argv.data(), prepared.environment.data());
  die(plan.program.c_str());
}

}  // namespace

Result<pid_t> launch(const Launch& plan) {
  if (plan.uid == 0 || plan.gid == 0)
    return fail(Code::kInternal, "sandbox: the host uid and gid must not be 0");
  if (plan.binds.size() > kMaxBinds) return fail(Code::kInternal, "sandbox: too many binds");
  Prepared prepared;
  prepared.strings = {plan.program};
  prepared.strings.insert(prepared.strings.end(), plan.arguments.begin(), plan.arguments.end());
  const std::size_t firstBind = prepared.strings.size();
  for (const Launch::Bind& bind : plan.binds) {
    prepared.strings.push_back(bind.device ? "--dev-bind" : bind.writable ? "--bind" : "--ro-bind");
    prepared.strings.push_back(bind.source);
    prepared.strings.push_back(bind.destination);
    prepared.gathered.push_back(std::string(kGather) + "/" + std::to_string(prepared.gathered.size()));
  }
  prepared.strings.insert(prepared.strings.end(), plan.tail.begin(), plan.tail.end());
  for (std::string& text : prepared.strings) prepared.argv.push_back(text.data());
  prepared.argv.push_back(nullptr);

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return fail(errnoError(errno, "sandbox: fork"));
  if (pid == 0) child(plan, prepared, firstBind, parent);
  return pid;
}

}  // namespace kiln::sandbox
