#include "worker/sandbox/seccomp_filter.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>

#include "manifest/base/file.h"

namespace kiln::sandbox {
namespace {

using Arg = scmp_arg_cmp;
// Alternatives: a call is allowed if all comparisons of any one of them hold.
using Alternatives = std::vector<std::vector<Arg>>;

Arg bitsClear(unsigned index, scmp_datum_t mask) {
  return SCMP_CMP64(index, SCMP_CMP_MASKED_EQ, mask, 0);
}
Arg equals(unsigned index, scmp_datum_t value) {
  return SCMP_CMP64(index, SCMP_CMP_EQ, value, 0);
}
// The kernel looks at 32 bits of an int argument; the upper half of the register is the caller's to choose.
Arg equals32(unsigned index, std::uint32_t value) {
  return SCMP_CMP64(index, SCMP_CMP_MASKED_EQ, 0xffffffffu, value);
}

constexpr scmp_datum_t kSetId = S_ISUID | S_ISGID;
// A mode that makes a pipe: no device, no socket, no set-id bits.
Arg namedPipe(unsigned index) {
  return SCMP_CMP64(index, SCMP_CMP_MASKED_EQ, S_IFMT | kSetId, S_IFIFO);
}
// __O_TMPFILE without the O_DIRECTORY bit that O_TMPFILE includes.
constexpr scmp_datum_t kCreating = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
constexpr scmp_datum_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                        CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE;
constexpr std::uint32_t kSame = 0xffffffff;  // an id that stays as it is
constexpr int kPrSetVma = 0x53564d41;        // PR_SET_VMA, from linux/prctl.h since 5.17

// NVIDIA's kernel interface (open-gpu-kernel-modules, nv-ioctl-numbers.h, uvm_linux_ioctl.h): requests of
// type 'F', those of unified memory, which are plain small numbers, and the two that open and close it. And
// those of render nodes: type 'd' (linux/drm.h).
Alternatives gpuIoctls() {
  constexpr std::uint32_t kType = 0xff00, kPlain = 0xffffff00, kUvmInitialize = 0x30000001,
                          kUvmDeinitialize = 0x30000002;
  return {{SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, kType, std::uint32_t{'F'} << 8)},
          {bitsClear(1, kPlain)},
          {equals32(1, kUvmInitialize)},
          {equals32(1, kUvmDeinitialize)},
          {SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, kType, std::uint32_t{'d'} << 8)}};
}

// Descriptors, their flags, and the seals of memory of the process's own: no locks, leases, notifications,
// signals or hints, which belong to the file and reach everybody who has it open.
constexpr int kFcntls[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,     F_SETFD,
                           F_GETFL, F_SETFL,         F_ADD_SEALS, F_GET_SEALS};
// What concerns the caller's own pages: nothing that drops, merges or moves pages which a file has in common.
constexpr int kAdvice[] = {MADV_NORMAL,        MADV_RANDOM,        MADV_SEQUENTIAL, MADV_WILLNEED,
                           MADV_DONTNEED,      MADV_FREE,          MADV_DONTFORK,   MADV_DOFORK,
                           MADV_HUGEPAGE,      MADV_NOHUGEPAGE,    MADV_DONTDUMP,   MADV_DODUMP,
                           MADV_POPULATE_READ, MADV_POPULATE_WRITE};

template <class List>
Alternatives oneOf(unsigned index, const List& values) {
  Alternatives all;
  for (const auto value : values) all.push_back({equals32(index, static_cast<std::uint32_t>(value))});
  return all;
}

std::map<std::string, Alternatives> narrowed(bool gpu) {
  Alternatives ioctls, prctls, families;
  if (gpu) ioctls = gpuIoctls();
  for (unsigned request : {TCGETS, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCGWINSZ}) {
    ioctls.push_back({equals32(1, request)});
  }
  for (int option :
       {PR_SET_NAME, PR_GET_NAME, PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_CAPBSET_READ, kPrSetVma}) {
    prctls.push_back({equals32(0, static_cast<std::uint32_t>(option))});
  }
  for (int family : {AF_INET, AF_INET6, AF_UNIX})
    families.push_back({equals32(0, static_cast<std::uint32_t>(family))});
  return {{"chmod", {{bitsClear(1, kSetId)}}},
          {"fchmod", {{bitsClear(1, kSetId)}}},
          {"fchmodat", {{bitsClear(2, kSetId)}}},
          {"creat", {{bitsClear(1, kSetId)}}},
          {"open", {{bitsClear(1, kCreating)}, {bitsClear(2, kSetId)}}},
          {"openat", {{bitsClear(2, kCreating)}, {bitsClear(3, kSetId)}}},
          {"mknod", {{namedPipe(1)}}},
          {"mknodat", {{namedPipe(2)}}},
          {"setresgid", {{equals32(0, kSame), equals32(2, kSame)}}},
          {"setresuid", {{equals32(0, kSame), equals32(2, kSame)}}},
          {"clone", {{bitsClear(0, kNewNamespaces)}}},
          {"fallocate", {{equals32(1, 0)}}},  // what lies beyond a file's size is in no limit of it
          {"fcntl", oneOf(1, kFcntls)},
          {"madvise", oneOf(2, kAdvice)},
          {"ioctl", ioctls},
          {"prctl", prctls},
          {"socket", families},
          {"socketpair", {{equals(0, AF_UNIX)}}}};
}

}  // namespace

Result<std::string> buildFilter(const Policy& policy) {
  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)),
                                                           seccomp_release);
  if (!context) return fail(Code::kInternal, "seccomp filter: libseccomp could not start");
  const auto rules = narrowed(policy.gpu);
  for (const std::string& name : policy.calls) {
    const int number = seccomp_syscall_resolve_name(name.c_str());
    if (number < 0) continue;  // not a call of this architecture
    const auto narrow = rules.find(name);
    int rc = 0;
    if (narrow == rules.end()) {
      rc = seccomp_rule_add(context.get(), SCMP_ACT_ALLOW, number, 0);
    } else {
      for (const auto& alternative : narrow->second) {
        rc = seccomp_rule_add_array(context.get(), SCMP_ACT_ALLOW, number,
                                    static_cast<unsigned>(alternative.size()), alternative.data());
        if (rc != 0) break;
      }
    }
    if (rc != 0) return fail(errnoError(-rc, "seccomp filter: rule for " + name));
  }
  UniqueFd file(memfd_create("kiln-seccomp", MFD_CLOEXEC));
  if (!file) return fail(errnoError(errno, "seccomp filter: memfd_create"));
  if (const int rc = seccomp_export_bpf(context.get(), file.get()); rc != 0) {
    return fail(errnoError(-rc, "seccomp filter: export"));
  }
  std::string program(static_cast<std::size_t>(lseek(file.get(), 0, SEEK_END)), '\0');
  if (pread(file.get(), program.data(), program.size(), 0) != static_cast<ssize_t>(program.size())) {
    return fail(errnoError(errno, "seccomp filter: read back"));
  }
  return program;
}

}  // namespace kiln::sandbox
