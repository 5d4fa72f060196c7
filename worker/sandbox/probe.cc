#include "worker/sandbox/probe.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "manifest/base/run_program.h"
#include "worker/sandbox/confinement.h"

namespace kiln::sandbox {
namespace {

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool exists(const char* path) {
  return access(path, F_OK) == 0;
}

Check bubblewrap(const Host& host) {
  Check check{"bubblewrap", Verdict::kMissing, "", "apt-get install bubblewrap (0.8.0 or later)"};
  if (access(host.bwrap.c_str(), X_OK) != 0) {
    check.detail = host.bwrap + " is not there";
    return check;
  }
  const auto said = runProgram({host.bwrap, "--version"}, {.standardError = StandardError::kJoined});
  if (said) check.detail = said->out.substr(0, std::min<std::size_t>(said->out.find('\n'), 127));
  struct stat info{};
  if (stat(host.bwrap.c_str(), &info) == 0 && (info.st_mode & S_ISUID) != 0) {
    check.detail += ", installed set-uid";
    check.remedy = "a set-uid bubblewrap cannot disable nested user namespaces: chmod u-s " + host.bwrap;
  } else if (recentEnough(check.detail)) {
    check.verdict = Verdict::kOk;
    check.remedy.clear();
  }
  return check;
}

Check userNamespaces(const Confinement& confinement, const Remedies& remedies) {
  Check check{"user namespaces", Verdict::kOk, "allowed", ""};
  if (confinement.users != 0) {
    check = {"user namespaces", Verdict::kMissing,
             "a new one is refused: " + std::string(strerror(confinement.users)), remedies.users};
  } else if (confinement.mounts != 0) {
    check = {"user namespaces", Verdict::kMissing,
             "mounts within one are refused: " + std::string(strerror(confinement.mounts)), remedies.mounts};
  }
  const auto blocked = [&](const char* file, const char* value, const std::string& remedy) {
    if (firstLine(file) != value) return;
    check = {"user namespaces", Verdict::kMissing, std::string(file) + " is " + value, remedy};
  };
  blocked("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000");
  blocked("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1");
  blocked("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
          "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap");
  return check;
}

// The whole chain at once: a shell from the host's /usr that must end with a status of our choice.
Check trial(const Sandbox& sandbox, int slot, const Remedies& remedies) {
  Check check{"trial run", Verdict::kMissing, "", ""};
  Command command;
  command.arguments = {"/bin/sh", "-c", "exit 7"};
  for (const char* dir : {"/usr", "/bin", "/lib", "/lib64"}) {
    if (exists(dir)) command.binds.push_back({dir, dir, false});
  }
  RunOptions options;
  options.slot = slot;
  options.timeLimit = std::chrono::seconds(20);
  const auto run = sandbox.run(command, options);
  if (run && run->termination == Termination::kExited && run->exitCode == 7) {
    return {"trial run", Verdict::kOk, "a command ran with every namespace, the filter and the limits", ""};
  }
  check.detail =
      !run ? run.error().message
           : "the trial command ended with " + std::to_string(run->exitCode) + " " + run->why + run->err;
  // With --disable-userns bubblewrap writes below /proc/sys, which runtimes mount read-only.
  if (check.detail.find("/proc") != std::string::npos) {
    check.remedy = remedies.proc;
  } else if (check.detail.find("ermi") != std::string::npos) {  // "No permissions", "not permitted"
    check.remedy = remedies.users;
  } else {
    check.remedy =
        "run the worker where bubblewrap works: a plain Debian host, or a container with namespaces allowed";
  }
  return check;
}

Check memoryLimit(const Host& host, const Remedies& remedies) {
  if (host.cgroups.memory()) return {"memory limit", Verdict::kOk, host.cgroups.describe(), ""};
  return {"memory limit", Verdict::kWarning,
          "no control group for memory (" + host.cgroups.describe() +
              "): only each process is limited, not their sum",
          remedies.memory};
}

Check processLimit(const Host& host) {
  if (host.cgroups.processes())
    return {"process limit", Verdict::kOk, host.cgroups.describe() + ", RLIMIT_NPROC", ""};
  return {"process limit", Verdict::kOk, "RLIMIT_NPROC", ""};
}

Check killedWorkers(const Host& host, const Remedies& remedies) {
  if (host.ownPids)
    return {"killed worker", Verdict::kOk,
            "the kernel ends everything that it ran: a pid namespace of its own", ""};
  return {
      "killed worker", Verdict::kWarning,
      "no pid namespace with a /proc of its own: a sandbox whose bubblewrap is killed within its first "
      "milliseconds may stay, where there is a control group until the next start; checks and tunes, which "
      "see a /proc, do not start",
      remedies.proc};
}

Check identity(const Host& host, const Remedies& remedies) {
  const std::uint32_t uid = host.actionUid(0);
  const std::string range = "actions run as host uid " + std::to_string(uid);
  if (geteuid() != 0) {
    return {"host uid", Verdict::kWarning, range + ", which is also the worker's", remedies.account};
  }
  for (std::uint32_t slot = 0; slot < 64; ++slot) {
    if (const passwd* user = getpwuid(host.uidBase + slot)) {
      return {"host uid", Verdict::kWarning,
              "uid " + std::to_string(host.uidBase + slot) + " belongs to the account " + user->pw_name,
              "choose a free range with --uid-base"};
    }
  }
  return {"host uid", Verdict::kOk, range + " and up, one per slot", ""};
}

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kMissing:
      return "missing";
  }
  return "missing";
}

}  // namespace

bool recentEnough(const std::string& versionLine) {
  int major = 0, minor = 0;
  const std::size_t digits = versionLine.find_first_of("0123456789");
  if (digits == std::string::npos) return false;
  if (std::sscanf(versionLine.c_str() + digits, "%d.%d", &major, &minor) != 2) return false;
  return major > 0 || minor >= 8;
}

bool Probe::usable() const {
  return std::none_of(checks.begin(), checks.end(),
                      [](const Check& c) { return c.verdict == Verdict::kMissing; });
}

Json Probe::toJson() const {
  Json list = Json::array();
  for (const Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"verdict", word(check.verdict)},
                    {"detail", check.detail},
                    {"remedy", check.remedy}});
  }
  return {{"usable", usable()}, {"checks", list}};
}

std::string Probe::text() const {
  std::string out;
  for (const Check& check : checks) {
    out += std::string(word(check.verdict)) + ": " + check.name + ": " + check.detail + "\n";
    if (!check.remedy.empty()) out += "    " + check.remedy + "\n";
  }
  return out;
}

Probe probe(const Sandbox& sandbox, int slot) {
  const Host& host = sandbox.host();
  Probe result;
  result.checks.push_back(bubblewrap(host));
  const bool present = result.usable();
  const Confinement confinement = readConfinement();
  const Remedies remedies = remediesFor(confinement);
  result.checks.push_back({"container", Verdict::kOk, confinement.describe(), ""});
  result.checks.push_back(userNamespaces(confinement, remedies));
  if (present) result.checks.push_back(trial(sandbox, slot, remedies));
  result.checks.push_back(memoryLimit(host, remedies));
  result.checks.push_back(processLimit(host));
  result.checks.push_back(killedWorkers(host, remedies));
  result.checks.push_back(identity(host, remedies));
  return result;
}

}  // namespace kiln::sandbox
