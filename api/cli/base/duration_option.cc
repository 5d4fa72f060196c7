#include "api/cli/base/duration_option.h"

#include <charconv>

namespace kiln::cli {
namespace {

constexpr std::int64_t kDay = 24 * 3600;

std::int64_t secondsOf(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return kDay;
    default:
      return 0;
  }
}

}  // namespace

Result<std::chrono::seconds> parseDuration(const std::string& text) {
  constexpr std::int64_t kMaxDays = 3660;
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  const std::int64_t unit = rest != end && rest + 1 == end ? secondsOf(*rest) : 0;
  if (error == std::errc::invalid_argument || unit == 0)
    return fail(Code::kInvalidArgument,
                "\"" + text + "\" is no duration; give a number and s, m, h or d, such as 36h");
  if (error != std::errc() || count < 1 || count > kMaxDays * kDay / unit)
    return fail(Code::kInvalidArgument,
                "\"" + text + "\" is out of range; give 1s to " + std::to_string(kMaxDays) + "d");
  return std::chrono::seconds(count * unit);
}

Result<std::chrono::seconds> parseWait(const std::string& text) {
  if (text == "0s") return std::chrono::seconds(0);
  return parseDuration(text).map_error([](const Error& error) { return error.in("--wait"); });
}

}  // namespace kiln::cli
