#include "worker/fetcher/confine.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "manifest/base/file.h"
#include "worker/sandbox/policy.h"
#include "worker/sandbox/seccomp_filter.h"

namespace kiln::fetcher {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kConfined = false;
#elif defined(__has_feature)
constexpr bool kConfined = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
constexpr bool kConfined = true;
#endif

constexpr rlim_t kAddresses = rlim_t{8} << 30;
constexpr rlim_t kProcessorSeconds = 3600;

// Landlock's first version; what later ones add to it is refused by the filter of system calls.
constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWrite =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR;
constexpr std::uint64_t kAll = kRead | kWrite | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                               LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                               LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                               LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

// Never above what the process was given.
void limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  now.rlim_max = std::min(now.rlim_max, value);
  now.rlim_cur = std::min(now.rlim_cur, now.rlim_max);
  ::setrlimit(resource, &now);
}

Status keepPrivileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) return {};
  return fail(errnoError(errno, "no_new_privs"));
}

Status allow(int ruleset, const std::string& directory, std::uint64_t access) {
  KILN_ASSIGN(const auto opened, openFile(directory, O_PATH | O_DIRECTORY, 0, directory));
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = opened.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) return {};
  return fail(errnoError(errno, directory + ": Landlock"));
}

}  // namespace

void limitResources() {
  limit(RLIMIT_CORE, 0);
  if (!kConfined) return;
  limit(RLIMIT_AS, kAddresses);
  limit(RLIMIT_CPU, kProcessorSeconds);
}

void allowProcessorTime(std::chrono::seconds time) {
  itimerval timer{};
  timer.it_value.tv_sec = time.count();
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

Status refuseOtherCalls() {
  if (!kConfined) return {};
  KILN_ASSIGN(std::string filter, sandbox::buildFilter(sandbox::readPolicy()));
  KILN_TRY(keepPrivileges());
  const sock_fprog program{static_cast<unsigned short>(filter.size() / sizeof(sock_filter)),
                           reinterpret_cast<sock_filter*>(filter.data())};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return {};
  return fail(Code::kUnavailable, errnoError(errno, "this system has no filter for system calls").message);
}

Status restrictFiles(const std::vector<std::string>& readable, const std::string& writable) {
  if (!kConfined) return {};
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = kAll;
  const UniqueFd ruleset(static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0)));
  if (!ruleset) {
    if (errno == ENOSYS || errno == EOPNOTSUPP) return {};
    return fail(errnoError(errno, "Landlock"));
  }
  for (const std::string& each : readable) KILN_TRY(allow(ruleset.get(), each, kRead));
  KILN_TRY(allow(ruleset.get(), writable, kWrite));
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0) return {};
  return fail(errnoError(errno, "Landlock"));
}

}  // namespace kiln::fetcher
