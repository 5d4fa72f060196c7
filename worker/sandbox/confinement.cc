#include "worker/sandbox/confinement.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>

namespace kiln::sandbox {
namespace {

Surroundings findSurroundings() {
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return Surroundings::kPod;
  for (const char* mark : {"/.dockerenv", "/run/.containerenv"})
    if (access(mark, F_OK) == 0) return Surroundings::kContainer;
  return std::getenv("container") != nullptr ? Surroundings::kContainer : Surroundings::kHost;
}

// The value of "Name:" in /proc/self/status; 0 if there is none.
int statusNumber(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return std::atoi(line.c_str() + name.size() + 1);
  return 0;
}

// "docker-default (enforce)" confines, "unconfined" and profiles that only complain do not.
std::string appArmorProfile() {
  std::ifstream file("/proc/self/attr/current");
  std::string line;
  std::getline(file, line);
  const auto mode = line.find(" (enforce)");
  return mode == std::string::npos ? std::string() : line.substr(0, mode);
}

// The errno with which a child's steps end, up to `withMounts`; 0 if all work. After the fork in a program
// with threads only the calls themselves are made.
int attempt(bool withMounts) {
  const auto pid = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (pid < 0) return errno;
  if (pid == 0) {
    if (unshare(CLONE_NEWUSER) != 0) _exit(errno);
    if (!withMounts) _exit(0);
    const bool mounted = unshare(CLONE_NEWNS) == 0 &&
                         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("kiln", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m") == 0;
    _exit(mounted ? 0 : errno);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

Remedies onHost(const Confinement& confinement) {
  Remedies out;
  out.users = confinement.filtered
                  ? "this process runs under a filter of system calls: allow namespaces (in a systemd unit "
                    "RestrictNamespaces=no, SystemCallFilter=@mount)"
                  : "allow unprivileged user namespaces: user.max_user_namespaces and its kin (sysctl)";
  out.mounts = confinement.appArmor.empty()
                   ? "allow mounts within user namespaces (in a systemd unit SystemCallFilter=@mount)"
                   : "have AppArmor's profile " + confinement.appArmor + " allow mounts and userns";
  out.proc =
      "run the worker as root, or where nothing is mounted over parts of /proc (in a systemd unit without "
      "ProtectKernelTunables=, ProtectProc= and ProcSubset=)";
  out.memory = "run the worker as root, or as a systemd service with Delegate=yes on a host with cgroup v2";
  out.account = "run the worker as root, so that every slot gets an unprivileged uid of its own";
  return out;
}

Remedies inContainer(const Confinement& confinement) {
  Remedies out = onHost(confinement);
  out.users =
      "start the container with --security-opt seccomp=infra/deploy/seccomp/kiln-worker.json, since the "
      "engine's own profile blocks namespaces";
  out.mounts = out.users + "; where AppArmor is on also with --security-opt apparmor=unconfined";
  out.proc =
      "start the container with --security-opt systempaths=unconfined (podman: unmask=ALL), as an ordinary "
      "user of a user namespace";
  out.memory = "give the worker one slot (--slots 1) and the container a limit (--memory), which then holds";
  out.account = "one slot to a container (--slots 1): no two actions at a time then share the user";
  return out;
}

Remedies inPod() {
  Remedies out;
  out.users =
      "in the container's securityContext: seccompProfile: {type: Localhost, localhostProfile: "
      "kiln-worker.json}, with infra/deploy/seccomp/kiln-worker.json in the kubelet's folder for such "
      "profiles on each node";
  out.mounts = "in the container's securityContext: appArmorProfile: {type: Unconfined}, and " + out.users;
  out.proc =
      "in the container's securityContext: procMount: Unmasked, and in the pod's spec: hostUsers: false, "
      "which that wants";
  out.memory =
      "give the worker one slot (--slots 1) and its container a memory limit, which then bounds the action";
  out.account = "one slot to a pod (--slots 1): no two actions at a time then share the user";
  return out;
}

}  // namespace

std::string Confinement::describe() const {
  std::string out = surroundings == Surroundings::kPod ? "a pod" : "a container";
  if (surroundings == Surroundings::kHost) out = "no container";
  out += filtered ? ", with a filter of system calls" : ", without a filter of system calls";
  if (noNewPrivileges) out += ", without new privileges";
  return out + (appArmor.empty() ? ", not confined by AppArmor" : ", AppArmor profile " + appArmor);
}

Confinement readConfinement() {
  Confinement found;
  found.surroundings = findSurroundings();
  constexpr int kFilterMode = 2;
  found.filtered = statusNumber("Seccomp") == kFilterMode;
  found.noNewPrivileges = statusNumber("NoNewPrivs") == 1;
  found.appArmor = appArmorProfile();
  found.users = attempt(false);
  if (found.users == 0) found.mounts = attempt(true);
  return found;
}

Remedies remediesFor(const Confinement& confinement) {
  switch (confinement.surroundings) {
    case Surroundings::kHost:
      return onHost(confinement);
    case Surroundings::kContainer:
      return inContainer(confinement);
    case Surroundings::kPod:
      return inPod();
  }
  return {};
}

}  // namespace kiln::sandbox
