#include "compiler_core/driver/commands/toolchain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace kiln::driver {
namespace {

namespace fs = std::filesystem;

constexpr char kTunables[] = "GLIBC_TUNABLES";
constexpr char kPinned[] = "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4";

// The running program, also where /proc is not mounted: the farm starts it by a path.
fs::path self() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (!error) return path;
  return fs::weakly_canonical(program_invocation_name, error);
}

}  // namespace

Result<std::string> findToolchainLib(const std::string& toolchain) {
  const fs::path base = self().parent_path().parent_path();
  const std::vector<fs::path> places = toolchain.empty()
                                           ? std::vector<fs::path>{base / "lib", base / "toolchain" / "lib"}
                                           : std::vector<fs::path>{fs::path(toolchain) / "lib"};
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place / "kmath.bc", error)) return place.string();
  }
  return fail(Code::kNotFound,
              fmt::format("no toolchain: {} has no kmath.bc; give --toolchain DIR", places.front().string()));
}

std::string besideThisProgram(const std::string& name) {
  return (self().parent_path() / name).string();
}

Status pinHostMath(char** argv) {
  const char* now = std::getenv(kTunables);
  if (now && std::string_view(now) == kPinned) return {};
  if (::setenv(kTunables, kPinned, 1) != 0) return fail(errnoError(errno, kTunables));
  ::execv(self().c_str(), argv);
  return fail(Code::kFailedPrecondition,
              fmt::format("cannot run itself again ({}); set {}={}",
                          errnoError(errno, self().string()).message, kTunables, kPinned));
}

}  // namespace kiln::driver
