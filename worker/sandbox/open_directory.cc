#include "worker/sandbox/open_directory.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace kiln::sandbox {

UniqueFd openDirectory(int at, const char* name) {
  return UniqueFd(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

Result<std::vector<std::string>> listNames(int directory, std::size_t limit) {
  const auto failed = [] { return fail(errnoError(errno, "cannot list a directory")); };
  std::vector<std::string> names;
  UniqueFd copy = openDirectory(directory, ".");
  if (!copy) return failed();
  std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(copy.get()), closedir);
  if (!stream) return failed();
  copy.release();
  while (names.size() < limit) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr && errno != 0) return failed();
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

}  // namespace kiln::sandbox
