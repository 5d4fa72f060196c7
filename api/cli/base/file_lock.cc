#include "api/cli/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

#include "api/cli/base/print.h"

namespace kiln::cli {

Result<UniqueFd> lockForUpdate(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  KILN_ASSIGN(UniqueFd lock, openFile(folder, O_RDONLY | O_DIRECTORY, 0, folder));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  note("kiln: waiting for another kiln that changes files in " + folder);
  while (::flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) return fail(errnoError(errno, folder));
  return lock;
}

}  // namespace kiln::cli
