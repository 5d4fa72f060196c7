#include "worker/sandbox/uid_range.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <string>

namespace kiln::sandbox {

Result<UidRange> UidRange::claim() {
  for (std::uint32_t i = 0; i < kWorkers; ++i) {
    UniqueFd lock(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!lock) return fail(errnoError(errno, "uid range"));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "kiln-worker-uids-" + std::to_string(i);
    name.copy(address.sun_path + 1, name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (bind(lock.get(), reinterpret_cast<sockaddr*>(&address), size) == 0) {
      return UidRange(std::move(lock), kFirst + i * kPerWorker);
    }
    if (errno != EADDRINUSE) return fail(errnoError(errno, "uid range"));
  }
  return fail(Code::kResourceExhausted,
              "all " + std::to_string(kWorkers) + " uid ranges of this host are taken");
}

}  // namespace kiln::sandbox
