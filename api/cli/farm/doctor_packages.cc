#include "api/cli/farm/doctor_packages.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "manifest/base/run_program.h"

namespace kiln::cli {
namespace {

constexpr char kUpgrade[] =
    "upgrade it: apt-get update, apt-get upgrade; then build anew, since programs hold it";

// From Debian 12's changelogs of November 2026 and gRPC's advisories; later releases of Debian have later
// versions.
constexpr KnownFix kFixes[] = {
    {"grpc", "1.53.2", "CVE-2023-1428, -32732, -33953, -4785",
     "Debian 12 and 13 have no later one: coordinator/LIMITS.md says what works and what stands before it"},
    {"openssl", "3.0.19-1~deb12u2", "CVE-2026-31790, -31789, -28387 and earlier ones", kUpgrade},
    {"curl", "7.88.1-10+deb12u15", "CVE-2026-7168, -5773, -3784 and earlier ones", kUpgrade},
    {"libgit2", "1.5.1+ds-1+deb12u2", "CVE-2026-53584, -53585, -53586 and earlier ones", kUpgrade},
    {"postgresql-15", "15.18", "CVE-2026-6473 to -6479 and earlier ones", kUpgrade},
    {"protobuf", "3.21.12-3+deb12u1", "CVE-2024-7254, CVE-2025-4565, CVE-2026-0994", kUpgrade},
    {"nghttp2", "1.52.0-1+deb12u2", "CVE-2023-44487, CVE-2024-28182", kUpgrade},
    {"nginx", "1.22.1-9+deb12u11", "CVE-2023-44487 and later ones", kUpgrade},
};

}  // namespace

std::span<const KnownFix> knownFixes() {
  return kFixes;
}

std::vector<Finding> packagesBelowFixes(
    std::string_view installed, const std::function<bool(const std::string&, const std::string&)>& earlier) {
  std::map<std::string, std::string> versions;  // of a source: the earliest of its packages
  std::istringstream lines{std::string(installed)};
  for (std::string source, version; lines >> source >> version;) {
    const auto [at, fresh] = versions.try_emplace(source, version);
    if (!fresh && at->second != version && earlier(version, at->second)) at->second = version;
  }
  std::vector<Finding> out;
  int known = 0;
  for (const KnownFix& fix : kFixes) {
    const auto at = versions.find(fix.source);
    if (at == versions.end()) continue;
    ++known;
    if (earlier(at->second, fix.fixed))
      out.push_back({fmt::format("package {}", fix.source), "warning",
                     fmt::format("{} is before {}, which ends {}", at->second, fix.fixed, fix.faults),
                     fix.next});
  }
  if (out.empty() && known > 0)
    out.push_back({"packages", "ok", fmt::format("{} are not below the fixes known here", known), ""});
  return out;
}

std::vector<Finding> checkPackages() {
  constexpr std::chrono::seconds kLimit{20};
  const auto listed = runProgram(
      {"/usr/bin/dpkg-query", "-W", "-f", "${source:Package} ${source:Version} ${db:Status-Status}\n"},
      {.limit = kLimit});
  if (!listed || listed->exitCode != 0) return {};
  std::string installed;
  std::istringstream lines(listed->out);
  for (std::string source, version, status; lines >> source >> version >> status;)
    if (status == "installed") installed += source + " " + version + "\n";
  return packagesBelowFixes(installed, [&](const std::string& one, const std::string& other) {
    const auto answer =
        runProgram({"/usr/bin/dpkg", "--compare-versions", one, "lt", other}, {.limit = kLimit});
    return answer && answer->exitCode == 0;
  });
}

}  // namespace kiln::cli
