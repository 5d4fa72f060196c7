#include "api/cli/log_location.h"

#include <cstdlib>

namespace kiln::cli {

Result<std::unique_ptr<signing::LogSource>> openLog(const std::string& named) {
  if (!named.empty()) return signing::openLogSource(named);
  const char* farm = std::getenv("KILN_HTTP");
  if (farm && *farm) return signing::openLogSource(std::string(farm) + "/log");
  return fail(Code::kInvalidArgument,
              "name the log with --log URL or --log DIR, or source a farm's kiln.env");
}

}  // namespace kiln::cli
