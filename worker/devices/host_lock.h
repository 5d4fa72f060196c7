// One holder of a device on this machine, whichever worker of this user it is.
#pragma once

#include <optional>
#include <string>

#include "manifest/base/file.h"
#include "manifest/base/result.h"

namespace kiln::devices {

// Where the locks of all workers of this user lie: /run/kiln-devices for root, else /tmp/kiln-devices-<uid>.
std::string hostLockDirectory();

// Held as long as it lives; gone with the process. Workers of other users and in other mount namespaces do
// not see it.
class HostLock {
 public:
  // Nothing while another process, or this one, holds the device with this uuid. Makes `directory` if it is
  // not there; kFailedPrecondition unless it is a directory of this user's that nobody else may enter.
  static Result<std::optional<HostLock>> tryTake(const std::string& uuid,
                                                 const std::string& directory = hostLockDirectory());

 private:
  explicit HostLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace kiln::devices
