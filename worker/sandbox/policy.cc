#include "worker/sandbox/policy.h"

#include <algorithm>
#include <filesystem>

namespace kiln::sandbox {
namespace {

// Enough for a static C++ program with threads that reads, maps and writes files, runs child programs and
// links. Left out on purpose: sockets, ptrace, mount, namespaces, keyrings, bpf, perf, userfaultfd, io_uring,
// modules, clocks, set*id, links, device nodes, extended attributes, memory of other processes, clone3 (its
// flags cannot be filtered); and what shows or changes the state that the kernel keeps of a file for
// everybody who has it open, since parallel actions share their toolchain's files: flock, inotify, fanotify,
// cachestat, readahead, fadvise64, preadv2 and pwritev2 (RWF_NOWAIT), statfs and fstatfs (the space that
// others leave). SHARED_STATE.md has the whole list and what is left.
constexpr const char* kFileCalls[] = {
    "access",     "chdir",     "chmod",      "close",         "close_range", "copy_file_range", "creat",
    "dup",        "dup2",      "dup3",       "epoll_create1", "epoll_ctl",   "epoll_pwait",     "epoll_wait",
    "eventfd2",   "faccessat", "faccessat2", "fallocate",     "fchdir",      "fchmod",          "fchmodat",
    "fcntl",      "fdatasync", "fstat",      "fsync",         "ftruncate",   "getcwd",          "getdents",
    "getdents64", "ioctl",     "lseek",      "lstat",         "mkdir",       "mkdirat",         "newfstatat",
    "open",       "openat",    "pipe",       "pipe2",         "poll",        "ppoll",           "pread64",
    "preadv",     "pselect6",  "pwrite64",   "pwritev",       "read",        "readlink",        "readlinkat",
    "readv",      "rename",    "renameat",   "renameat2",     "rmdir",       "select",          "sendfile",
    "stat",       "statx",     "truncate",   "umask",         "unlink",      "unlinkat",        "utimensat",
    "write",      "writev"};
constexpr const char* kMemoryCalls[] = {"brk",      "madvise", "membarrier", "mmap",
                                        "mprotect", "mremap",  "msync",      "munmap"};
constexpr const char* kProcessCalls[] = {"alarm",
                                         "arch_prctl",
                                         "clock_getres",
                                         "clock_gettime",
                                         "clock_nanosleep",
                                         "clone",
                                         "execve",
                                         "exit",
                                         "exit_group",
                                         "fork",
                                         "futex",
                                         "get_robust_list",
                                         "getcpu",
                                         "getegid",
                                         "geteuid",
                                         "getgid",
                                         "getgroups",
                                         "getitimer",
                                         "getpgid",
                                         "getpgrp",
                                         "getpid",
                                         "getppid",
                                         "getpriority",
                                         "getrandom",
                                         "getresgid",
                                         "getresuid",
                                         "getrlimit",
                                         "getrusage",
                                         "getsid",
                                         "gettid",
                                         "gettimeofday",
                                         "getuid",
                                         "kill",
                                         "nanosleep",
                                         "pause",
                                         "prctl",
                                         "prlimit64",
                                         "restart_syscall",
                                         "rseq",
                                         "rt_sigaction",
                                         "rt_sigpending",
                                         "rt_sigprocmask",
                                         "rt_sigqueueinfo",
                                         "rt_sigreturn",
                                         "rt_sigsuspend",
                                         "rt_sigtimedwait",
                                         "sched_get_priority_max",
                                         "sched_get_priority_min",
                                         "sched_getaffinity",
                                         "sched_getparam",
                                         "sched_getscheduler",
                                         "sched_setaffinity",
                                         "sched_yield",
                                         "set_robust_list",
                                         "set_tid_address",
                                         "setitimer",
                                         "setpgid",
                                         "setrlimit",
                                         "setsid",
                                         "sigaltstack",
                                         "sysinfo",
                                         "tgkill",
                                         "time",
                                         "times",
                                         "tkill",
                                         "uname",
                                         "vfork",
                                         "wait4",
                                         "waitid"};
constexpr const char* kNetworkCalls[] = {
    "bind",     "connect", "getpeername", "getsockname", "getsockopt", "recvfrom", "recvmmsg",  "recvmsg",
    "sendmmsg", "sendmsg", "sendto",      "setsockopt",  "shutdown",   "socket",   "socketpair"};

// Loading a program from sealed memory, and looking how much of its arena is resident.
constexpr const char* kLoadCalls[] = {"memfd_create", "mincore"};
// What shells, build tools and compiler drivers use beside: links and pipes with names among files of their
// own, owners and times as copies want them (one owner is mapped), a look at attributes, which listing wants,
// the own user as the effective one, which make wants of each child, and pairs of sockets without a name.
// Locks stay out: what foreign actions read is shared as well.
constexpr const char* kBuildCalls[] = {
    "chown",    "fchown",     "fchownat", "fgetxattr", "flistxattr", "futimesat",  "getxattr",
    "lchown",   "lgetxattr",  "link",     "linkat",    "listxattr",  "llistxattr", "mknod",
    "mknodat",  "recvfrom",   "recvmsg",  "sendmsg",   "sendto",     "setresgid",  "setresuid",
    "shutdown", "socketpair", "symlink",  "symlinkat", "utime",      "utimes"};
// What NVIDIA's driver library uses beside.
constexpr const char* kGpuCalls[] = {"get_mempolicy", "mbind", "mlock", "munlock"};

// Reading files and writing new ones.
constexpr const char* kReadCalls[] = {
    "access",  "close", "faccessat", "faccessat2", "fcntl",      "fstat", "getcwd", "getdents64", "ioctl",
    "lseek",   "lstat", "mkdir",     "mkdirat",    "newfstatat", "open",  "openat", "poll",       "ppoll",
    "pread64", "read",  "readlink",  "readlinkat", "readv",      "stat",  "statx",  "write",      "writev"};
// What a process without threads or children asks of itself.
constexpr const char* kOwnCalls[] = {
    "clock_gettime", "exit",         "exit_group", "futex",           "getegid",      "geteuid",
    "getgid",        "getpid",       "getppid",    "getrandom",       "getrlimit",    "getrusage",
    "gettid",        "gettimeofday", "getuid",     "restart_syscall", "rt_sigaction", "rt_sigprocmask",
    "rt_sigreturn",  "sched_yield",  "setitimer",  "sysinfo",         "tgkill",       "uname"};
// Giving up more rights.
constexpr const char* kLandlockCalls[] = {"landlock_add_rule", "landlock_create_ruleset",
                                          "landlock_restrict_self"};

// What parallel actions can still learn of each other or of the machine; SHARED_STATE.md explains each.
std::vector<std::string> leftShared(const Policy& policy) {
  std::vector<std::string> left = {"cpu", "free-memory", "futexes-of-mapped-files", "page-cache-timing",
                                   "user-limits"};
  if (policy.proc) left.emplace_back("proc");
  if (policy.network) left.emplace_back("network");
  if (policy.gpu) left.emplace_back("gpu");
  if (std::ranges::find(policy.calls, "mincore") != policy.calls.end()) left.emplace_back("page-residency");
  std::sort(left.begin(), left.end());
  return left;
}

template <class... Lists>
std::vector<std::string> sortedUnion(const Lists&... lists) {
  std::vector<std::string> all;
  (all.insert(all.end(), std::begin(lists), std::end(lists)), ...);
  std::sort(all.begin(), all.end());
  return all;
}

Policy withGpu(Policy policy, const char* name, const std::vector<std::string>& nodes) {
  policy.name = name;
  policy.gpu = true;
  policy.devices.insert(policy.devices.end(), nodes.begin(), nodes.end());
  std::sort(policy.devices.begin(), policy.devices.end());
  policy.calls = sortedUnion(policy.calls, kGpuCalls);
  policy.limits.addressSpaceBytes = ~std::uint64_t{0};
  return policy;
}

}  // namespace

Policy compilePolicy() {
  Policy policy;
  policy.name = "compile/2";
  policy.devices = {"/dev/null", "/dev/urandom", "/dev/zero"};
  policy.calls = sortedUnion(kFileCalls, kMemoryCalls, kProcessCalls);
  return policy;
}

Policy checkPolicy() {
  Policy policy;
  policy.name = "check/2";
  policy.proc = true;
  policy.devices = {"/dev/null", "/dev/urandom", "/dev/zero"};
  policy.calls = sortedUnion(kFileCalls, kMemoryCalls, kProcessCalls, kLoadCalls);
  policy.limits.outputBytes = 16ull << 20;
  policy.limits.outputFiles = 16;
  return policy;
}

Policy tunePolicy() {
  Policy policy = compilePolicy();
  policy.name = "tune/2";
  policy.proc = true;
  return policy;
}

Policy executePolicy() {
  Policy policy;
  policy.name = "execute/1";
  policy.proc = true;  // /dev/fd, and programs that look for themselves under /proc/self/exe
  policy.devices = {"/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"};
  policy.links = {{"/dev/fd", "/proc/self/fd"},
                  {"/dev/stderr", "/proc/self/fd/2"},
                  {"/dev/stdin", "/proc/self/fd/0"},
                  {"/dev/stdout", "/proc/self/fd/1"}};
  policy.calls = sortedUnion(kFileCalls, kMemoryCalls, kProcessCalls, kBuildCalls);
  policy.limits.processes = 1024;
  policy.limits.openFiles = 4096;
  policy.limits.outputFiles = 65536;
  policy.limits.outputDepth = 96;  // an input tree has 64 levels, and outputs may lie below them
  policy.limits.outputPathBytes = 1024;
  policy.limits.logBytes = 4u << 20;
  policy.limits.tmpBytes = 1ull << 30;
  return policy;
}

Policy gpuCheckPolicy(std::vector<std::string> nodes) {
  return withGpu(checkPolicy(), "gpu-check/3", nodes);
}

Policy gpuTunePolicy(std::vector<std::string> nodes) {
  return withGpu(tunePolicy(), "gpu-tune/1", nodes);
}

std::vector<std::string> gpuNodes() {
  std::vector<std::string> nodes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    const std::string_view rest = name.starts_with("nvidia") ? std::string_view(name).substr(6) : "none";
    const bool gpu = !rest.empty() && rest.find_first_not_of("0123456789") == std::string_view::npos;
    if ((gpu || rest == "ctl" || rest == "-uvm" || rest == "-uvm-tools") && entry.is_character_file(error))
      nodes.push_back(entry.path().string());
  }
  // By which Mesa's Vulkan drivers reach AMD's and Intel's GPUs.
  for (const auto& entry : std::filesystem::directory_iterator("/dev/dri", error))
    if (entry.path().filename().string().starts_with("renderD") && entry.is_character_file(error))
      nodes.push_back(entry.path().string());
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

Policy fetchPolicy() {
  Policy policy;
  policy.name = "fetch/2";
  policy.network = true;
  policy.devices = {"/dev/null", "/dev/urandom", "/dev/zero"};
  policy.calls = sortedUnion(kFileCalls, kMemoryCalls, kProcessCalls, kNetworkCalls);
  policy.limits.memoryBytes = 4ull << 30;
  policy.limits.processes = 64;
  policy.limits.wallSeconds = 900;
  policy.limits.cpuSeconds = 900;
  policy.limits.outputFiles = 65536;
  policy.limits.outputDepth = 32;
  return policy;
}

Policy readPolicy() {
  Policy policy;
  policy.name = "read/1";
  policy.calls = sortedUnion(kReadCalls, kMemoryCalls, kOwnCalls, kLandlockCalls);
  return policy;
}

Json Policy::toJson() const {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  Json json{{"apiVersion", "kiln/v1"},
            {"kind", "SandboxPolicy"},
            {"name", name},
            {"network", network},
            {"namespaces", {"cgroup", "ipc", "mount", "net", "pid", "user", "uts"}},
            {"uid", uid},
            {"gid", gid},
            {"hostName", hostName},
            {"randomizeAddresses", randomizeAddresses},
            {"devices", devices},
            {"calls", calls},
            {"sharedState", leftShared(*this)},
            {"limits",
             {{"memoryBytes", number(limits.memoryBytes)},
              {"addressSpaceBytes", number(limits.addressSpaceBytes)},
              {"stackBytes", number(limits.stackBytes)},
              {"processes", number(limits.processes)},
              {"openFiles", number(limits.openFiles)},
              {"cpuSeconds", number(limits.cpuSeconds)},
              {"wallSeconds", number(limits.wallSeconds)},
              {"fileBytes", number(limits.fileBytes)},
              {"outputBytes", number(limits.outputBytes)},
              {"outputFiles", number(limits.outputFiles)},
              {"outputDepth", number(limits.outputDepth)},
              {"outputPathBytes", number(limits.outputPathBytes)},
              {"logBytes", number(limits.logBytes)}}}};
  // Where there is none of these, older policies' documents say nothing of them, and keep their digests.
  if (limits.tmpBytes != 0) json["limits"]["tmpBytes"] = number(limits.tmpBytes);
  if (!links.empty()) json["links"] = links;
  if (proc) json["proc"] = true;
  if (gpu) json["gpu"] = true;
  return json;
}

Result<Digest> Policy::digest() const {
  KILN_ASSIGN(const std::string text, toCanonicalJson(toJson()));
  return digestOf(text);
}

}  // namespace kiln::sandbox
