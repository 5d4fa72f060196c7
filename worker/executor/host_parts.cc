#include "worker/executor/host_parts.h"

#include <unistd.h>

namespace kiln::executor {

std::vector<sandbox::Bind> hostBinds(std::span<const char* const> parts) {
  std::vector<sandbox::Bind> binds;
  for (const char* part : parts)
    if (access(part, F_OK) == 0) binds.push_back({part, part, false});
  return binds;
}

}  // namespace kiln::executor
