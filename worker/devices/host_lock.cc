#include "worker/devices/host_lock.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>

#include "manifest/base/digest.h"

namespace kiln::devices {

Result<std::optional<HostLock>> HostLock::tryTake(const std::string& uuid) {
  UniqueFd lock(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!lock) return fail(errnoError(errno, "device lock"));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Everybody can list these names, so the uuid is not in it.
  const std::string name = "kiln-device-" + digestOf(uuid).hex().substr(0, 32);
  name.copy(address.sun_path + 1, name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(lock.get(), reinterpret_cast<sockaddr*>(&address), size) == 0)
    return std::optional(HostLock(std::move(lock)));
  if (errno == EADDRINUSE) return std::optional<HostLock>();
  return fail(errnoError(errno, "device lock"));
}

}  // namespace kiln::devices
