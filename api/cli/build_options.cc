#include "api/cli/build_options.h"

#include <sys/random.h>

#include <array>
#include <cerrno>

#include "manifest/base/digest.h"
#include "manifest/spec/target.h"

namespace kiln::cli {

Status checkTarget(const std::string& target) {
  const auto parsed = parseTarget(target);
  if (parsed || parsed.error().code != Code::kInvalidArgument) return {};
  return fail(parsed.error());
}

Status checkTune(const std::string& value) {
  if (value == "off") return {};
  return fail(Code::kUnimplemented, "--tune " + value + ": only \"off\" is served");
}

Result<std::string> newIdempotencyKey() {
  std::array<std::uint8_t, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(errnoError(errno, "getrandom"));
  }
  return toHex(bytes);
}

}  // namespace kiln::cli
