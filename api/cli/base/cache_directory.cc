#include "api/cli/base/cache_directory.h"

#include <cstdlib>

namespace kiln::cli {

std::string cacheDirectory() {
  const auto below = [](const char* variable, const char* path) {
    const char* const value = std::getenv(variable);
    return value == nullptr || *value == '\0' ? std::string() : std::string(value) + path;
  };
  for (const std::string& directory :
       {below("KILN_CACHE", ""), below("XDG_CACHE_HOME", "/kiln"), below("HOME", "/.cache/kiln")})
    if (!directory.empty()) return directory;
  return {};
}

}  // namespace kiln::cli
