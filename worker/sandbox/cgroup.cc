#include "worker/sandbox/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

namespace kiln::sandbox {
namespace {

constexpr const char* kPrefix = "kiln-";

bool writeFile(const std::string& path, const std::string& text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string readSmall(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(4096, '\0');
  const ssize_t got = fd ? read(fd.get(), text.data(), text.size()) : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

// Whether a child group can be made in `dir` and accepts a value in `file`.
bool trial(const std::string& dir, const std::string& file, const std::string& value) {
  const std::string child = dir + "/" + kPrefix + std::to_string(getpid()) + "-trial";
  if (mkdir(child.c_str(), 0755) != 0) return false;
  const bool ok = writeFile(child + "/" + file, value);
  rmdir(child.c_str());
  return ok;
}

bool hasWord(const std::string& text, const std::string& word) {
  std::istringstream in(text);
  for (std::string next; in >> next;) {
    if (next == word) return true;
  }
  return false;
}

std::uint64_t numberIn(const std::string& path) {
  const std::string text = readSmall(path);
  return text.empty() || text[0] < '0' || text[0] > '9' ? 0 : std::stoull(text.substr(0, 19));
}

// The value behind "key " in a flat keyed file.
std::uint64_t keyed(const std::string& path, const std::string& key) {
  std::istringstream in(readSmall(path));
  std::string name;
  for (std::uint64_t value = 0; in >> name >> value;) {
    if (name == key) return value;
  }
  return 0;
}

// Version 1: the group of this process in the hierarchy of `controller`, or the hierarchy's root as a
// container sees it.
std::string v1Dir(const std::string& root, const std::string& selfCgroup, const std::string& controller) {
  std::istringstream lines(selfCgroup);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string list = line.substr(first + 1, second - first - 1);
    if (("," + list + ",").find("," + controller + ",") == std::string::npos) continue;
    for (const std::string& mount : {root + "/" + controller, root + "/" + list}) {
      std::string own = mount + line.substr(second + 1);
      if (own.ends_with('/')) own.pop_back();
      if (exists(own + "/cgroup.procs")) return own;
      if (exists(mount + "/cgroup.procs")) return mount;
    }
  }
  return {};
}

std::string v2Dir(const std::string& root, const std::string& selfCgroup) {
  std::istringstream lines(selfCgroup);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("0::/")) continue;
    std::string own = root + line.substr(3);
    if (own.ends_with('/')) own.pop_back();
    return exists(own + "/cgroup.procs") ? own : root;
  }
  return {};
}

// Kills what is in the group and waits until it is gone. Processes of other pid namespaces are listed as 0
// and are not ours to kill.
void empty(const std::string& dir) {
  constexpr int kTries = 500;
  for (int i = 0; i < kTries; ++i) {
    std::istringstream members(readSmall(dir + "/cgroup.procs"));
    bool any = false;
    for (pid_t pid = 0; members >> pid;) {
      if (pid <= 0) continue;
      any = true;
      kill(pid, SIGKILL);
    }
    if (!any) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void remove(const std::string& dir) {
  if (rmdir(dir.c_str()) == 0 || errno != EBUSY) return;
  empty(dir);
  rmdir(dir.c_str());
}

// Removes the groups below `dir` that end in `suffix`, with whatever still runs there, and of all others
// those whose maker is gone, if they are empty.
void sweep(const std::string& dir, const std::string& suffix) {
  std::error_code error;
  std::vector<std::string> groups;
  for (auto entry = std::filesystem::directory_iterator(dir, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kPrefix)) groups.push_back(entry->path().string());
  }
  for (const std::string& group : groups) {
    int pid = 0;
    const std::string name = std::filesystem::path(group).filename().string();
    if (sscanf(name.c_str() + strlen(kPrefix), "%d-", &pid) != 1) continue;
    if (!suffix.empty() && name.ends_with(suffix)) {
      remove(group);
    } else if (kill(pid, 0) != 0 && errno == ESRCH) {
      rmdir(group.c_str());
    }
  }
}

// Names a directory by what stays the same when its path is written another way.
std::string suffixOf(const std::string& state) {
  struct stat info{};
  if (state.empty() || stat(state.c_str(), &info) != 0) return {};
  return "-" + std::to_string(info.st_dev) + "." + std::to_string(info.st_ino);
}

// Version 2 gives controllers to children only if no process sits in the group itself.
bool openV2(const std::string& dir) {
  const auto enabled = [&] {
    const std::string on = readSmall(dir + "/cgroup.subtree_control");
    return hasWord(on, "memory") && hasWord(on, "pids");
  };
  const std::string given = readSmall(dir + "/cgroup.controllers");
  if (!hasWord(given, "memory") || !hasWord(given, "pids")) return false;
  if (enabled()) return true;
  writeFile(dir + "/cgroup.subtree_control", "+memory +pids");
  if (enabled()) return true;
  const std::string leaf = dir + "/kiln-worker";
  if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return false;
  if (!writeFile(leaf + "/cgroup.procs", "0")) return false;
  writeFile(dir + "/cgroup.subtree_control", "+memory +pids");
  return enabled();
}

}  // namespace

Cgroup::~Cgroup() {
  for (const std::string& dir : dirs_) remove(dir);
}

std::uint64_t Cgroup::peakMemory() const {
  for (const std::string& dir : dirs_) {
    if (const auto v1 = numberIn(dir + "/memory.max_usage_in_bytes")) return v1;
    if (const auto v2 = numberIn(dir + "/memory.peak")) return v2;
  }
  return 0;
}

bool Cgroup::ranOutOfMemory() const {
  return std::any_of(dirs_.begin(), dirs_.end(), [](const std::string& dir) {
    return keyed(dir + "/memory.oom_control", "oom_kill") > 0 ||
           keyed(dir + "/memory.events", "oom_kill") > 0;
  });
}

CgroupHost CgroupHost::detect(const std::string& root, const std::string& selfCgroup,
                              const std::string& state) {
  CgroupHost host;
  host.suffix_ = suffixOf(state);
  if (exists(root + "/cgroup.controllers")) {
    const std::string dir = v2Dir(root, selfCgroup);
    if (!dir.empty() && openV2(dir) && trial(dir, "pids.max", "16")) {
      host.version_ = 2;
      host.memoryDir_ = host.pidsDir_ = dir;
      sweep(dir, host.suffix_);
    }
    return host;
  }
  const std::string memory = v1Dir(root, selfCgroup, "memory"), pids = v1Dir(root, selfCgroup, "pids");
  if (!memory.empty() && trial(memory, "memory.limit_in_bytes", "1073741824")) host.memoryDir_ = memory;
  if (!pids.empty() && trial(pids, "pids.max", "16")) host.pidsDir_ = pids;
  if (host.memory() || host.processes()) host.version_ = 1;
  for (const std::string& dir : {host.memoryDir_, host.pidsDir_})
    if (!dir.empty()) sweep(dir, host.suffix_);
  return host;
}

std::string CgroupHost::describe() const {
  if (version_ == 0) return "none";
  return "cgroup v" + std::to_string(version_) + ": " + (memory() ? "memory" : "") +
         (memory() && processes() ? ", " : "") + (processes() ? "pids" : "");
}

Result<std::unique_ptr<Cgroup>> CgroupHost::create(std::uint64_t serial, const Limits& limits) const {
  const std::string name = kPrefix + std::to_string(getpid()) + "-" + std::to_string(serial) + suffix_;
  std::vector<std::string> parents = {memoryDir_, pidsDir_};
  std::erase(parents, "");
  if (version_ == 2) parents.resize(1);
  std::vector<std::string> dirs;
  std::vector<UniqueFd> procs;
  for (const std::string& parent : parents) {
    const std::string dir = parent + "/" + name;
    if (mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST)
      return fail(errnoError(errno, "cannot make " + dir));
    dirs.push_back(dir);
    procs.emplace_back(open((dir + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!procs.back()) return fail(errnoError(errno, "cannot open " + dir + "/cgroup.procs"));
  }
  auto group = std::make_unique<Cgroup>(std::move(dirs), std::move(procs));
  const std::string bytes = std::to_string(limits.memoryBytes);
  // Two more for bubblewrap itself.
  const std::string count = std::to_string(limits.processes + 2);
  if (memory()) {
    const std::string dir = memoryDir_ + "/" + name;
    if (!writeFile(dir + (version_ == 1 ? "/memory.limit_in_bytes" : "/memory.max"), bytes)) {
      return fail(errnoError(errno, "cannot limit memory in " + dir));
    }
    // Swap would only postpone the end; absent where swap accounting is off.
    version_ == 1 ? writeFile(dir + "/memory.memsw.limit_in_bytes", bytes)
                  : writeFile(dir + "/memory.swap.max", "0");
  }
  if (processes() && !writeFile(pidsDir_ + "/" + name + "/pids.max", count)) {
    return fail(errnoError(errno, "cannot limit processes in " + pidsDir_ + "/" + name));
  }
  return group;
}

}  // namespace kiln::sandbox
