// A tool that misbehaves in the way its first argument says. Runs static in an empty root; prints what it
// achieved, one fact per line. Exit status 0 unless asked otherwise.
#include <dirent.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

extern char** environ;

namespace {

void report(const char* what, long rc) {
  std::printf("%s: %s\n", what, rc >= 0 ? "done" : std::strerror(errno));
}

void list(const char* dir) {
  std::printf("ls %s:", dir);
  if (DIR* stream = opendir(dir)) {
    std::string names[64];
    int count = 0;
    while (const dirent* entry = readdir(stream)) {
      if (entry->d_name[0] != '.' && count < 64) names[count++] = entry->d_name;
    }
    for (int i = 0; i < count; ++i) {
      for (int j = i + 1; j < count; ++j) {
        if (names[j] < names[i]) names[i].swap(names[j]);
      }
      std::printf(" %s", names[i].c_str());
    }
  }
  std::printf("\n");
}

int facts() {
  std::printf("pid %d\nuid %u %u gid %u %u groups %d\n", getpid(), getuid(), geteuid(), getgid(), getegid(),
              getgroups(0, nullptr));
  char name[256] = "";
  gethostname(name, sizeof name);
  std::printf("host %s\n", name);
  for (char** variable = environ; *variable != nullptr; ++variable) std::printf("env %s\n", *variable);
  for (int fd = 0; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) std::printf("fd %d\n", fd);
  }
  char cwd[256] = "";
  std::printf("cwd %s\n", getcwd(cwd, sizeof cwd) ? cwd : "?");
  list("/");
  list("/dev");
  list("/work");
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  std::printf("core %lu\n", static_cast<unsigned long>(limit.rlim_cur));
  getrlimit(RLIMIT_STACK, &limit);
  std::printf("stack %lu\n", static_cast<unsigned long>(limit.rlim_cur));
  return 0;
}

// Soft and hard limits of this process.
int limits() {
  const std::pair<const char*, __rlimit_resource> all[] = {
      {"core", RLIMIT_CORE},     {"as", RLIMIT_AS},           {"stack", RLIMIT_STACK},
      {"nofile", RLIMIT_NOFILE}, {"fsize", RLIMIT_FSIZE},     {"cpu", RLIMIT_CPU},
      {"nproc", RLIMIT_NPROC},   {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE},
      {"rtprio", RLIMIT_RTPRIO}};
  for (const auto& [name, resource] : all) {
    rlimit limit{};
    getrlimit(resource, &limit);
    std::printf("%s %lu %lu\n", name, static_cast<unsigned long>(limit.rlim_cur),
                static_cast<unsigned long>(limit.rlim_max));
  }
  return 0;
}

int addresses() {
  int local = 0;
  std::printf("addresses: %p %p %p %p\n", static_cast<void*>(&local), std::malloc(10), std::malloc(10 << 20),
              mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  return 0;
}

// What could get into an output without being an input (attack 28), one "name: value" each.
int tell() {
  struct stat tool{}, root{};
  stat("/work/toolchain/bin/tool", &tool);
  stat("/work/toolchain", &root);
  std::printf("links: %lu %lu\n", static_cast<unsigned long>(tool.st_nlink),
              static_cast<unsigned long>(root.st_nlink));
  std::printf("mtime: %ld %ld\n", static_cast<long>(tool.st_mtime), static_cast<long>(root.st_mtime));
  std::printf("mode: %o %o\numask: %o\n", tool.st_mode, root.st_mode, umask(0));
  std::printf("processes: %d %d %d\n", getpid(), getppid(), getsid(0));
  addresses();
  const auto* random = reinterpret_cast<const unsigned long*>(getauxval(AT_RANDOM));
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::printf("AT_RANDOM: %lx\nclock: %ld.%09ld\n", random[0], static_cast<long>(now.tv_sec), now.tv_nsec);
#ifdef __x86_64__
  std::printf("rdtsc: %llu\n", __builtin_ia32_rdtsc());
#endif
  return 0;
}

int reach(int port, const char* abstractName) {
  const int inet = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  report("inet", inet < 0 ? inet : connect(inet, reinterpret_cast<sockaddr*>(&to), sizeof to));
  const int local = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path + 1, abstractName, sizeof address.sun_path - 2);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::strlen(abstractName));
  report("abstract", local < 0 ? local : connect(local, reinterpret_cast<sockaddr*>(&address), size));
  return 0;
}

int open_(const char* path) {
  report(path, open(path, O_RDONLY));
  return 0;
}

int spoil() {
  report("write", open("/work/input/model.onnx", O_WRONLY));
  report("create", open("/work/input/new", O_WRONLY | O_CREAT, 0644));
  report("toolchain", open("/work/toolchain/new", O_WRONLY | O_CREAT, 0644));
  report("root", open("/new", O_WRONLY | O_CREAT, 0644));
  report("dev", open("/dev/new", O_WRONLY | O_CREAT, 0644));
  report("unlink", unlink("/work/input/model.onnx"));
  report("chmod", chmod("/work/input/model.onnx", 0777));
  report("link", syscall(SYS_linkat, AT_FDCWD, "/work/input/model.onnx", AT_FDCWD, "/work/output/link", 0));
  report("times", syscall(SYS_utimensat, AT_FDCWD, "/work/input/model.onnx", nullptr, 0));
  return 0;
}

int calls() {
  report("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
  report("mount", mount("none", "/work/output", "tmpfs", 0, nullptr));
  report("unshare", unshare(CLONE_NEWUSER));
  report("clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  report("keyctl", syscall(SYS_keyctl, 0, -3, 1));
  report("add_key", syscall(SYS_add_key, "user", "k", "v", 1, -3));
  report("bpf", syscall(SYS_bpf, 0, nullptr, 0));
  report("perf_event_open", syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0));
  report("userfaultfd", syscall(SYS_userfaultfd, 0));
  report("io_uring_setup", syscall(SYS_io_uring_setup, 1, nullptr));
  report("process_vm_readv", syscall(SYS_process_vm_readv, 1, nullptr, 0, nullptr, 0, 0));
  report("socket", socket(AF_INET, SOCK_STREAM, 0));
  report("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
  report("setuid", setuid(0));
  report("personality", personality(PER_LINUX));
  report("memfd_create", memfd_create("m", 0));
  report("chroot", chroot("/work"));
  report("setns", setns(0, 0));
  report("open_by_handle_at", syscall(SYS_open_by_handle_at, 0, nullptr, 0));
  report("settimeofday", syscall(SYS_settimeofday, nullptr, nullptr));
  report("setrlimit", [] {
    const rlimit more{RLIM_INFINITY, RLIM_INFINITY};
    return setrlimit(RLIMIT_NPROC, &more);
  }());
  report("tiocsti", syscall(SYS_ioctl, 0, 0x5412, "x"));
  report("mknod", mknod("/work/output/null", S_IFCHR | 0666, 0x103));
  report("symlink", symlink("/etc/passwd", "/work/output/passwd"));
  const int fd = open("/work/output/plain", O_WRONLY | O_CREAT, 0644);
  report("fchmod set-uid", fchmod(fd, 04755));
  report("chmod set-gid", chmod("/work/output/plain", 02755));
  report("open set-uid", open("/work/output/suid", O_WRONLY | O_CREAT, 04755));
  unlink("/work/output/plain");
  return 0;
}

// Calls that reach others, the machine or the kernel's less trodden paths, by number: with the filter none
// gets as far as its arguments.
int kernel() {
  const std::pair<const char*, long> all[] = {{"process_vm_writev", SYS_process_vm_writev},
                                              {"pidfd_open", 434},
                                              {"pidfd_getfd", 438},
                                              {"pidfd_send_signal", 424},
                                              {"process_madvise", 440},
                                              {"kcmp", SYS_kcmp},
                                              {"execveat", SYS_execveat},
                                              {"clone3", 435},
                                              {"openat2", 437},
                                              {"io_uring_enter", 426},
                                              {"io_uring_register", 427},
                                              {"io_setup", SYS_io_setup},
                                              {"seccomp", SYS_seccomp},
                                              {"landlock_create_ruleset", 444},
                                              {"memfd_secret", 447},
                                              {"timer_create", SYS_timer_create},
                                              {"timerfd_create", SYS_timerfd_create},
                                              {"signalfd4", SYS_signalfd4},
                                              {"shmget", SYS_shmget},
                                              {"shmat", SYS_shmat},
                                              {"semget", SYS_semget},
                                              {"msgget", SYS_msgget},
                                              {"mq_open", SYS_mq_open},
                                              {"mq_unlink", SYS_mq_unlink},
                                              {"request_key", SYS_request_key},
                                              {"fsopen", 430},
                                              {"open_tree", 428},
                                              {"move_mount", 429},
                                              {"mount_setattr", 442},
                                              {"umount2", SYS_umount2},
                                              {"pivot_root", SYS_pivot_root},
                                              {"name_to_handle_at", SYS_name_to_handle_at},
                                              {"fanotify_mark", SYS_fanotify_mark},
                                              {"quotactl", SYS_quotactl},
                                              {"setxattr", SYS_setxattr},
                                              {"splice", SYS_splice},
                                              {"tee", SYS_tee},
                                              {"vmsplice", SYS_vmsplice},
                                              {"sync", SYS_sync},
                                              {"syncfs", SYS_syncfs},
                                              {"sched_setscheduler", SYS_sched_setscheduler},
                                              {"sched_setattr", SYS_sched_setattr},
                                              {"setpriority", SYS_setpriority},
                                              {"ioprio_set", SYS_ioprio_set},
                                              {"migrate_pages", SYS_migrate_pages},
                                              {"move_pages", SYS_move_pages},
                                              {"setgroups", SYS_setgroups},
                                              {"setresuid", SYS_setresuid},
                                              {"capset", SYS_capset},
                                              {"sethostname", SYS_sethostname},
                                              {"clock_settime", SYS_clock_settime},
                                              {"clock_adjtime", SYS_clock_adjtime},
                                              {"acct", SYS_acct},
                                              {"syslog", SYS_syslog},
                                              {"swapon", SYS_swapon},
                                              {"reboot", SYS_reboot},
                                              {"kexec_load", SYS_kexec_load},
                                              {"init_module", SYS_init_module},
                                              {"finit_module", SYS_finit_module},
                                              {"delete_module", SYS_delete_module},
                                              {"lookup_dcookie", SYS_lookup_dcookie}};
  for (const auto& [name, number] : all) report(name, syscall(number, 0, 0, 0, 0, 0, 0));
  report("dumpable", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
  report("tracer", prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0));
  report("subreaper", prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
  report("filter", prctl(PR_SET_SECCOMP, 2, 0, 0, 0));
  report("layout", prctl(PR_SET_MM, PR_SET_MM_BRK, 0, 0, 0));
  report("fallocate beyond the end", syscall(SYS_fallocate, 1, 1 /* FALLOC_FL_KEEP_SIZE */, 0L, 4096L));
  report("hole", syscall(SYS_fallocate, 1, 3 /* and FALLOC_FL_PUNCH_HOLE */, 0L, 4096L));
  return 0;
}

// What a /proc gives: whom it shows, and what of it can be written to.
int proc() {
  if (DIR* stream = opendir("/proc")) {
    while (const dirent* entry = readdir(stream))
      if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && std::atoi(entry->d_name) != getpid())
        std::printf("process %s: seen\n", entry->d_name);
  }
  for (const char* path :
       {"/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
        "/proc/sys/vm/drop_caches", "/proc/sys/fs/file-max", "/proc/irq/default_smp_affinity",
        "/proc/acpi/wakeup", "/proc/kcore", "/proc/kmsg", "/proc/mtrr", "/proc/self/setgroups"})
    report(path, open(path, O_WRONLY));
  const int map = open("/proc/self/uid_map", O_WRONLY);
  report("uid_map", map < 0 ? map : write(map, "0 0 1", 5));
  return 0;
}

// Whatever shows or changes what the kernel keeps of a file for everybody who has it open.
int share(const char* path) {
  const int fd = open(path, O_RDONLY);
  report("open", fd);
  report("flock", flock(fd, LOCK_SH | LOCK_NB));
  struct flock lock{};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  report("posix lock", fcntl(fd, F_SETLK, &lock));
  report("posix lock, waiting", fcntl(fd, F_SETLKW, &lock));
  report("look for a lock", fcntl(fd, F_GETLK, &lock));
  lock.l_pid = 0;
  report("open file lock", fcntl(fd, F_OFD_SETLK, &lock));
  report("look for an open file lock", fcntl(fd, F_OFD_GETLK, &lock));
  report("lease", fcntl(fd, F_SETLEASE, F_RDLCK));
  report("look for a lease", fcntl(fd, F_GETLEASE));
  report("directory notification", fcntl(fd, F_NOTIFY, DN_ACCESS));
  report("owner of signals", fcntl(fd, F_SETOWN, getpid()));
  std::uint64_t hint = 0;
  report("write hint", fcntl(fd, F_GET_RW_HINT, &hint));
  report("inotify", inotify_init1(0));
  report("fanotify", static_cast<int>(syscall(SYS_fanotify_init, 0, 0)));
  report("readahead", readahead(fd, 0, 4096));
  report("fadvise", syscall(SYS_fadvise64, fd, 0, 0, POSIX_FADV_DONTNEED));
  report("cachestat", syscall(451, fd, nullptr, nullptr, 0));
  char byte = 0;
  iovec part{&byte, 1};
  report("read without waiting", syscall(SYS_preadv2, fd, &part, 1, 0, 0, 8 /* RWF_NOWAIT */));
  struct statfs space{};
  report("statfs", statfs("/work/output", &space));
  report("fstatfs", fstatfs(fd, &space));
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  unsigned char resident = 0;
  report("mincore", mincore(page, 4096, &resident));
  report("pageout", madvise(page, 4096, 21 /* MADV_PAGEOUT */));
  report("cold", madvise(page, 4096, 20 /* MADV_COLD */));
  report("remove", madvise(page, 4096, MADV_REMOVE));
  report("merge", madvise(page, 4096, MADV_MERGEABLE));
  return 0;
}

int hold(const char* path) {
  flock(open(path, O_RDONLY), LOCK_SH);
  std::fprintf(stderr, "stage: holding\n");
  while (true) pause();
}

// Leaves processes of every kind behind: a child, a daemon in its own session, a stopped one, one that
// ignores signals.
int survive() {
  for (int i = 0; i < 40; ++i) {
    const pid_t pid = fork();
    if (pid != 0) continue;
    setsid();
    if (fork() != 0) _exit(0);
    for (int number = 1; number < 65; ++number) signal(number, SIG_IGN);
    if (i % 4 == 0) raise(SIGSTOP);
    for (int tick = 0;; ++tick) {
      char path[64];
      std::snprintf(path, sizeof path, "/work/output/tick-%d-%d", i, tick % 4);
      const int fd = open(path, O_WRONLY | O_CREAT, 0644);
      close(fd);
      usleep(1000);
    }
  }
  std::printf("planted\n");
  return 0;
}

int forkBomb() {
  int made = 0;
  for (; made < 5000; ++made) {
    const pid_t pid = fork();
    if (pid < 0) break;
    if (pid == 0) {
      pause();
      _exit(0);
    }
  }
  std::printf("%d\n", made);
  return 0;
}

// Eight processes that touch `mega` MiB each.
int memoryBomb(long mega) {
  for (int i = 0; i < 8; ++i) {
    if (fork() != 0) continue;
    for (long j = 0; j < mega; ++j) {
      void* page = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (page == MAP_FAILED) _exit(1);
      for (int k = 0; k < 1 << 20; k += 4096) static_cast<volatile char*>(page)[k] = 1;
    }
    _exit(0);
  }
  int failed = 0, status = 0;
  while (wait(&status) > 0) failed += status != 0;
  std::printf("failed %d\n", failed);
  return failed == 0 ? 0 : 9;
}

int outputs(const std::string& kind) {
  const char* dir = "/work/output/";
  if (kind == "sparse") {
    const int fd = open("/work/output/giant", O_WRONLY | O_CREAT, 0644);
    signal(SIGXFSZ, SIG_IGN);
    report("sparse", ftruncate(fd, 4L << 40));
    return 0;
  }
  if (kind == "manyfiles") {
    for (int i = 0;; ++i) close(open((dir + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0644));
  }
  if (kind == "bytes") {
    static char block[1 << 20];
    for (int i = 0;; ++i) {
      const int fd = open((dir + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0644);
      for (int j = 0; j < 4; ++j) report("write", write(fd, block, sizeof block));
      close(fd);
    }
  }
  // Without a name, and in a directory that keeps others out: neither is there for whoever only looks at
  // names.
  if (kind == "unlinked" || kind == "hidden") {
    static char block[1 << 20];
    if (kind == "hidden") {
      mkdir("/work/output/d", 0300);
      dir = "/work/output/d/";
    }
    for (int i = 0; i < 40; ++i) {
      const std::string path = dir + std::to_string(i);
      const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0644);
      if (kind == "unlinked") unlink(path.c_str());
      for (int j = 0; j < 4; ++j) report("write", write(fd, block, sizeof block));
      if (kind == "hidden") close(fd);
    }
    while (true) pause();
  }
  if (kind == "deep") {
    if (chdir("/work/output") != 0) return 1;
    for (int i = 0; i < 5000; ++i) {
      if (mkdir("d", 0700) != 0 || chdir("d") != 0) break;
    }
    std::printf("dug\n");
    return 0;
  }
  if (kind == "closed") {
    mkdir("/work/output/closed", 0700);
    close(open("/work/output/closed/f", O_WRONLY | O_CREAT, 0644));
    chmod("/work/output/closed", 0);
    return 0;
  }
  return 2;
}

int flood() {
  static char block[1 << 16];
  std::memset(block, 'x', sizeof block);
  for (int i = 0; i < 1024; ++i) {
    if (write(2, block, sizeof block) < 0) return 1;
  }
  std::fprintf(stderr, "\nstage: last\nthe end\n");
  return 0;
}

int write_(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  if (fd < 0 || write(fd, text, std::strlen(text)) < 0) return 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 4096);
  const std::string what = argc > 1 ? argv[1] : "";
  const char* first = argc > 2 ? argv[2] : "";
  const char* second = argc > 3 ? argv[3] : "";
  if (what == "facts") return facts();
  if (what == "limits") return limits();
  if (what == "addresses") return addresses();
  if (what == "tell") return tell();
  if (what == "reach") return reach(std::atoi(first), second);
  if (what == "open") return open_(first);
  if (what == "spoil") return spoil();
  if (what == "calls") return calls();
  if (what == "kernel") return kernel();
  if (what == "proc") return proc();
  if (what == "share") return share(first);
  if (what == "hold") return hold(first);
  if (what == "survive") return survive();
  if (what == "forkbomb") return forkBomb();
  if (what == "memory") return memoryBomb(std::atol(first));
  if (what == "outputs") return outputs(first);
  if (what == "flood") return flood();
  if (what == "write") return write_(first, second);
  if (what == "exit") return std::atoi(first);
  if (what == "abort") {
    if (*first != 0 && write_(first, second) != 0) return 1;
    std::abort();
  }
  if (what == "segv") std::printf("%d", *static_cast<volatile int*>(nullptr));
  if (what == "spin") {
    while (true) asm volatile("");
  }
  if (what == "sleep") {
    if (*first != 0 && (write_(first, second) != 0 || write_("/work/output/half", "done") != 0)) return 1;
    std::fprintf(stderr, "stage: sleeping\n");
    while (true) pause();
  }
  return 2;
}
