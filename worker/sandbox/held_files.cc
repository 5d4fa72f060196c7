#include "worker/sandbox/held_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "manifest/base/file.h"

namespace kiln::sandbox {
namespace {

void eachNumber(const std::string& directory, const std::function<void(const char*)>& visit) {
  std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(directory.c_str()), closedir);
  if (!stream) return;
  while (const dirent* entry = readdir(stream.get()))
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') visit(entry->d_name);
}

// 0 for one that is gone.
pid_t parentOf(const std::string& process) {
  const UniqueFd file(open(("/proc/" + process + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  char text[512] = "";
  const ssize_t got = file ? read(file.get(), text, sizeof text - 1) : 0;
  const char* name = got > 0 ? strrchr(text, ')') : nullptr;  // ") S 4711 "; a name may hold anything
  return name != nullptr && strlen(name) > 4 ? static_cast<pid_t>(std::strtol(name + 4, nullptr, 10)) : 0;
}

}  // namespace

std::uint64_t unlinkedBytes(pid_t top, dev_t device) {
  std::multimap<pid_t, pid_t> children;
  eachNumber("/proc", [&](const char* name) {
    children.emplace(parentOf(name), static_cast<pid_t>(std::strtol(name, nullptr, 10)));
  });
  std::vector<pid_t> left{top};
  std::set<ino_t> seen;
  std::uint64_t bytes = 0;
  while (!left.empty()) {
    const pid_t process = left.back();
    left.pop_back();
    const auto below = children.equal_range(process);
    for (auto child = below.first; child != below.second; ++child) left.push_back(child->second);
    children.erase(below.first, below.second);  // numbers that came into use again make no circle
    const std::string files = "/proc/" + std::to_string(process) + "/fd";
    eachNumber(files, [&](const char* name) {
      struct stat info{};
      if (stat((files + "/" + name).c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 0 &&
          info.st_dev == device && seen.insert(info.st_ino).second)
        bytes += static_cast<std::uint64_t>(info.st_size);
    });
  }
  return bytes;
}

}  // namespace kiln::sandbox
