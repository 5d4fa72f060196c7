#include "worker/sandbox/launch.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

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
  std::string uidMap, gidMap;         // of a user namespace of its own
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

// fork(), in new namespaces. Of glibc's functions the child may then use only those that keep no state: it
// does not know that its other threads are gone.
pid_t cloneInto(unsigned long namespaces) {
  return static_cast<pid_t>(syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

// A root's child has what it needs; a user's is root of a user namespace in which its uid stays what it is.
unsigned long pidNamespaces(bool root) {
  return root ? CLONE_NEWPID : CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWNS;
}

bool writeOnce(const char* path, std::string_view text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return done;
}

bool mapUser(const Prepared& prepared) {
  return writeOnce("/proc/self/setgroups", "deny") && writeOnce("/proc/self/uid_map", prepared.uidMap) &&
         writeOnce("/proc/self/gid_map", prepared.gidMap);
}

// The /proc of this process's own pid namespace, in place of the one above it.
bool mountOwnProc() {
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

Prepared withMaps(uid_t uid, gid_t gid) {
  Prepared prepared;
  prepared.uidMap = std::to_string(uid) + " " + std::to_string(uid) + " 1\n";
  prepared.gidMap = std::to_string(gid) + " " + std::to_string(gid) + " 1\n";
  return prepared;
}

// The parent as /proc shows it: in a pid namespace of its own a process has no number for it. `stat` is its
// /proc/self/stat, opened in the parent's /proc.
pid_t parentIn(int stat) {
  char text[512] = "";
  const ssize_t got = pread(stat, text, sizeof text - 1, 0);
  const char* at = got > 0 ? strrchr(text, ')') : nullptr;  // ") S 4711 "
  if (at == nullptr || at[1] == 0 || at[2] == 0 || at[3] == 0) return -1;
  pid_t parent = 0;
  for (at += 4; *at >= '0' && *at <= '9'; ++at) parent = parent * 10 + (*at - '0');
  return parent;
}

// Root only. EPERM (a container without CAP_SYS_ADMIN) leaves the sources where they are; bubblewrap then
// says which it cannot reach.
bool gather(const Launch& plan, const Prepared& prepared) {
  if (unshare(CLONE_NEWNS) != 0) {
    if (errno == EPERM && !plan.ownPids) return false;
    die("unshare of the mount namespace");
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) die("mount --make-rprivate /");
  if (plan.ownPids && !mountOwnProc()) die("mount of /proc");
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

// By the calls themselves: glibc's functions would tell threads that are no more.
void becomeUser(const Launch& plan) {
  if (syscall(SYS_setgroups, 0, nullptr) != 0) die("setgroups");
  if (syscall(SYS_setresgid, plan.gid, plan.gid, plan.gid) != 0) die("setresgid");
  if (syscall(SYS_setresuid, plan.uid, plan.uid, plan.uid) != 0) die("setresuid");
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

[[noreturn]] void child(const Launch& plan, Prepared& prepared, std::size_t firstBind, pid_t parent,
                        bool root) {
  resetSignals();
  setpgid(0, 0);
  umask(022);
  // Before the descriptors are arranged, which would put others in its place.
  const int opened = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  const int stat = fcntl(opened, F_DUPFD_CLOEXEC, 64);
  if (stat < 0) die("/proc/self/stat");
  for (const int fd : plan.cgroups) {
    if (write(fd, "0", 1) != 1) die("entering the control group");
  }
  arrangeDescriptors(plan);
  // Best effort: when the host runs out of memory, an action goes before the farm does.
  if (const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    if (write(fd, "500", 3) != 3) errno = 0;
  }
  if (personality(ADDR_NO_RANDOMIZE) < 0) die("personality");
  if (root) {
    if (gather(plan, prepared)) {
      for (std::size_t i = 0; i < plan.binds.size(); ++i) {
        prepared.argv[firstBind + 3 * i + 1] = prepared.gathered[i].data();
      }
    }
    setLimits(plan);
    becomeUser(plan);
  } else {
    if (plan.ownPids && (!mapUser(prepared) || !mountOwnProc())) die("a pid namespace");
    setLimits(plan);
  }
  // Cleared by the change of uid, so set here; bubblewrap keeps it. Whoever is still the parent now will not
  // go without the signal, and nothing before this waits for anybody.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || parentIn(stat) != parent) die("the worker is gone");
  execve(plan.program.c_str(), prepared.argv.data(), prepared.environment.data());
  die(plan.program.c_str());
}

}  // namespace

Result<pid_t> launch(const Launch& plan) {
  if (plan.uid == 0 || plan.gid == 0)
    return fail(Code::kInternal, "sandbox: the host uid and gid must not be 0");
  if (plan.binds.size() > kMaxBinds) return fail(Code::kInternal, "sandbox: too many binds");
  Prepared prepared = withMaps(plan.uid, plan.gid);
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
  const bool root = geteuid() == 0;
  const pid_t pid = cloneInto(plan.ownPids ? pidNamespaces(root) : 0);
  if (pid < 0) return fail(errnoError(errno, "sandbox: clone"));
  if (pid == 0) child(plan, prepared, firstBind, parent, root);
  return pid;
}

bool canOwnPids() {
  const bool root = geteuid() == 0;
  const Prepared prepared = withMaps(geteuid(), getegid());
  // A trial that somebody killed says nothing about the host.
  for (int tries = 0; tries < 5; ++tries) {
    const pid_t pid = cloneInto(pidNamespaces(root));
    if (pid < 0) return false;
    if (pid == 0) {
      const bool can = root ? unshare(CLONE_NEWNS) == 0 : mapUser(prepared);
      _exit(can && mountOwnProc() ? 0 : 1);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0;
  }
  return false;
}

}  // namespace kiln::sandbox
