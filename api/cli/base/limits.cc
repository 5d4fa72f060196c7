#include "api/cli/base/limits.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>

namespace kiln::cli {
namespace {

struct Least {
  __rlimit_resource resource;
  const char* what;
  char option;         // of the shell's ulimit
  rlim_t least, unit;  // bytes or files; what ulimit counts in
};

// Found by trying: a build with TLS has some 20 files open, and gRPC's threads reserve their stacks.
constexpr rlim_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr Least kLeast[] = {{RLIMIT_NOFILE, "open files", 'n', 64, 1},
                            {RLIMIT_AS, "memory", 'v', 512 * kMiB, kKiB},
                            {RLIMIT_STACK, "stack", 's', 1 * kMiB, kKiB}};

Status check(const Least& least) {
  rlimit limit{};
  if (::getrlimit(least.resource, &limit) != 0 || limit.rlim_cur >= least.least) return {};
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min(least.least, limit.rlim_max);
  if (limit.rlim_cur >= least.least && ::setrlimit(least.resource, &limit) == 0) return {};
  return fail(
      Code::kResourceExhausted,
      fmt::format("the limit of {} is {} for this process, and kiln needs {}; raise it with ulimit -{} {}",
                  least.what, before / least.unit, least.least / least.unit, least.option,
                  least.least / least.unit));
}

}  // namespace

Status checkLimits() {
  for (const Least& least : kLeast) KILN_TRY(check(least));
  // New threads take the soft limit that the process was started with.
  pthread_attr_t attributes;
  std::size_t stack = 0;
  if (::pthread_getattr_default_np(&attributes) != 0) return {};
  if (::pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < kMiB &&
      ::pthread_attr_setstacksize(&attributes, kMiB) == 0)
    ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
  return {};
}

}  // namespace kiln::cli
