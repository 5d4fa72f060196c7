#include "worker/devices/host_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "manifest/base/digest.h"

namespace kiln::devices {
namespace {

Result<UniqueFd> openDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(errnoError(errno, "device lock " + path));
  UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about{};
  const bool own = directory && fstat(directory.get(), &about) == 0 && about.st_uid == geteuid() &&
                   (about.st_mode & 077) == 0;
  if (own) return directory;
  return fail(Code::kFailedPrecondition,
              "device locks want " + path +
                  " to be a directory of this worker's user with mode 0700, which it is not; remove it");
}

}  // namespace

std::string hostLockDirectory() {
  return geteuid() == 0 ? "/run/kiln-devices" : "/tmp/kiln-devices-" + std::to_string(geteuid());
}

Result<std::optional<HostLock>> HostLock::tryTake(const std::string& uuid, const std::string& directory) {
  KILN_ASSIGN(const UniqueFd parent, openDirectory(directory));
  const std::string name = digestOf(uuid).hex().substr(0, 32);
  UniqueFd file(openat(parent.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(errnoError(errno, "device lock"));
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return std::optional(HostLock(std::move(file)));
  if (errno == EWOULDBLOCK) return std::optional<HostLock>();
  return fail(errnoError(errno, "device lock"));
}

}  // namespace kiln::devices
