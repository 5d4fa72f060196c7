// One holder of a device on this machine, whichever worker it is.
#pragma once

#include <optional>
#include <string>

#include "manifest/base/file.h"
#include "manifest/base/result.h"

namespace kiln::devices {

// Held as long as it lives; gone with the process. Workers in other network namespaces do not see it.
class HostLock {
 public:
  // Nothing while another process, or this one, holds the device with this uuid.
  static Result<std::optional<HostLock>> tryTake(const std::string& uuid);

 private:
  explicit HostLock(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace kiln::devices
