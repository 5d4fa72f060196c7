#include "api/cli/base/exit_code.h"

#include "manifest/json/json.h"

namespace kiln::cli {

int exitCodeOf(const Error& error) {
  if (!error.details.empty()) {
    if (const auto details = parseJson(error.details); details && details->is_object()) {
      const auto at = details->find("exitCode");
      if (at != details->end() && at->is_number_integer()) {
        const auto value = at->get<std::int64_t>();
        if (value >= kExitInternal && value <= kExitCancelled) return static_cast<int>(value);
      }
    }
  }
  return kiln::exitCodeOf(error.code);
}

Error withExit(int exit, Code code, std::string message) {
  return {code, std::move(message), "{\"exitCode\":" + std::to_string(exit) + "}"};
}

}  // namespace kiln::cli
