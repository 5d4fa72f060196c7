#include "api/cli/build_options.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "manifest/spec/target.h"

namespace kiln::cli {
namespace {

// An element of a value ("k[0]") may be any integer, a dimension is positive.
bool readBound(std::string_view symbol, std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && (value > 0 || symbol.ends_with(']'));
}

}  // namespace

Result<ShapeProfile> parseProfile(const std::vector<std::string>& arguments) {
  ShapeProfile profile;
  profile.name = "default";
  for (const auto& argument : arguments) {
    const std::string_view text = argument;
    const auto equals = text.find('=');
    const auto first = text.find(':', equals + 1);
    const auto second = first == std::string_view::npos ? first : text.find(':', first + 1);
    const std::string name(text.substr(0, equals));
    DimRange range;
    if (equals == 0 || equals == std::string_view::npos || second == std::string_view::npos ||
        !readBound(name, text.substr(equals + 1, first - equals - 1), range.min) ||
        !readBound(name, text.substr(first + 1, second - first - 1), range.opt) ||
        !readBound(name, text.substr(second + 1), range.max) || range.min > range.opt ||
        range.opt > range.max) {
      return fail(
          Code::kInvalidArgument,
          "--profile " + argument + ": give DIM=min:opt:max with 1 <= min <= opt <= max, such as N=1:1:1");
    }
    if (!profile.dims.emplace(name, range).second) {
      return fail(Code::kInvalidArgument,
                  "--profile " + argument + ": dimension \"" + name + "\" is given twice");
    }
  }
  return profile;
}

Status checkTarget(const std::string& target) {
  const auto parsed = parseTarget(target);
  if (parsed || parsed.error().code != Code::kInvalidArgument) return {};
  return fail(parsed.error());
}

Status checkTune(const std::string& value) {
  if (value == "off") return {};
  return fail(Code::kUnimplemented, "--tune " + value + ": only \"off\" is served");
}

Status checkFallback(const std::string& value) {
  if (value == "fail") return {};
  return fail(Code::kUnimplemented, "--fallback " + value + ": only \"fail\" is served");
}

Result<std::string> newIdempotencyKey() {
  std::array<std::uint8_t, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(errnoError(errno, "getrandom"));
  }
  return toHex(bytes);
}

}  // namespace kiln::cli
