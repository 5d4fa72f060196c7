#include "worker/devices/host_level.h"

namespace kiln::devices {

std::string hostLevel() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v2 =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("ssse3");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? "cpu:x86-64-v4" : v3 ? "cpu:x86-64-v3" : v2 ? "cpu:x86-64-v2" : "cpu:x86-64";
#elif defined(__aarch64__)
  return "cpu:aarch64";
#elif defined(__riscv)
  return "cpu:riscv64";
#else
  return "cpu:unknown";
#endif
}

}  // namespace kiln::devices
