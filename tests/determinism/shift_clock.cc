// shift_clock SECONDS PROGRAM ARGUMENT...: runs a static program whose every look at the wall clock is
// SECONDS off. The kernel's answer to clock_gettime, gettimeofday and time is replaced by ptrace; the vDSO,
// which answers without a system call, is taken out of the program's auxiliary vector, so that libc falls
// back on system calls; rdtsc ends the program by a signal. x86-64 only.
#include <elf.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

constexpr long kOptions = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE |
                          PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(125);
}

[[noreturn]] void child(char** command) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettimeofday, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_time, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
  };
  sock_fprog program = {sizeof rules / sizeof *rules, rules};
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) die("PTRACE_TRACEME");
  raise(SIGSTOP);
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) die("PR_SET_TSC");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("PR_SET_NO_NEW_PRIVS");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) die("PR_SET_SECCOMP");
  execv(command[0], command);
  die(command[0]);
}

long peek(pid_t pid, unsigned long address) {
  errno = 0;
  const long word = ptrace(PTRACE_PEEKDATA, pid, address, nullptr);
  if (errno != 0) die("PTRACE_PEEKDATA");
  return word;
}

void poke(pid_t pid, unsigned long address, long word) {
  if (ptrace(PTRACE_POKEDATA, pid, address, word) != 0) die("PTRACE_POKEDATA");
}

// After execve the stack holds argc, argv, 0, environment, 0, auxiliary vector.
void hideVdso(pid_t pid) {
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, pid, nullptr, &registers) != 0) die("PTRACE_GETREGS");
  unsigned long at = registers.rsp + 8 * (static_cast<unsigned long>(peek(pid, registers.rsp)) + 2);
  while (peek(pid, at) != 0) at += 8;
  for (at += 8; peek(pid, at) != AT_NULL; at += 16)
    if (peek(pid, at) == AT_SYSINFO_EHDR) poke(pid, at, AT_IGNORE);
}

// The call is answered here and not made.
void answer(pid_t pid, long shift) {
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, pid, nullptr, &registers) != 0) die("PTRACE_GETREGS");
  timespec now{};
  const bool wall = registers.orig_rax != SYS_clock_gettime || registers.rdi == CLOCK_REALTIME ||
                    registers.rdi == CLOCK_REALTIME_COARSE;
  clock_gettime(
      registers.orig_rax == SYS_clock_gettime ? static_cast<clockid_t>(registers.rdi) : CLOCK_REALTIME, &now);
  if (wall) now.tv_sec += shift;
  registers.rax = 0;
  if (registers.orig_rax == SYS_time) {
    registers.rax = static_cast<unsigned long>(now.tv_sec);
    if (registers.rdi != 0) poke(pid, registers.rdi, now.tv_sec);
  } else {
    const unsigned long to = registers.orig_rax == SYS_clock_gettime ? registers.rsi : registers.rdi;
    const long fraction = registers.orig_rax == SYS_clock_gettime ? now.tv_nsec : now.tv_nsec / 1000;
    if (to != 0) poke(pid, to, now.tv_sec);
    if (to != 0) poke(pid, to + 8, fraction);
  }
  registers.orig_rax = static_cast<unsigned long>(-1);
  if (ptrace(PTRACE_SETREGS, pid, nullptr, &registers) != 0) die("PTRACE_SETREGS");
}

// Until `first` has ended: its exit code.
int trace(pid_t first, long shift) {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, __WALL);
    if (pid < 0) die("waitpid");
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (pid == first) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      continue;
    }
    const int signal = WSTOPSIG(status), event = status >> 16;
    int pass = 0;
    if (event == PTRACE_EVENT_EXEC)
      hideVdso(pid);
    else if (event == PTRACE_EVENT_SECCOMP)
      answer(pid, shift);
    else if (event == 0 && signal != SIGSTOP && signal != SIGTRAP)
      pass = signal;
    if (ptrace(PTRACE_CONT, pid, nullptr, pass) != 0 && errno != ESRCH) die("PTRACE_CONT");
  }
}

}  // namespace

int main(int argc, char** argv) {
  char* end = nullptr;
  const long shift = argc > 2 ? std::strtol(argv[1], &end, 10) : 0;
  if (argc < 3 || *end != '\0') {
    std::fprintf(stderr, "usage: shift_clock SECONDS PROGRAM ARGUMENT...\n");
    return 125;
  }
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) child(argv + 2);
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) die("the program did not start");
  if (ptrace(PTRACE_SETOPTIONS, pid, nullptr, kOptions) != 0) die("PTRACE_SETOPTIONS");
  if (ptrace(PTRACE_CONT, pid, nullptr, 0) != 0) die("PTRACE_CONT");
  return trace(pid, shift);
}
