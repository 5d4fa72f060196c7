#include "manifest/tuning/schedule.h"

#include <algorithm>
#include <limits>

namespace kiln {
namespace {

constexpr std::size_t kMaxKnobs = 16, kMaxValues = 16, kMaxName = 32;

bool isLower(char c) {
  return c >= 'a' && c <= 'z';
}

bool isName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && isLower(name.front()) &&
         std::ranges::all_of(name, [](char c) { return isLower(c) || (c >= '0' && c <= '9') || c == '-'; });
}

tl::unexpected<Error> bad(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

}  // namespace

Status checkSchedule(const Schedule& schedule) {
  if (schedule.size() > kMaxKnobs) return bad("a schedule of more than 16 knobs");
  for (const auto& [name, values] : schedule) {
    if (!isName(name))
      return bad("a knob whose name is not 1 to 32 lower-case letters, digits and \"-\", a letter first");
    if (values.empty() || values.size() > kMaxValues)
      return bad("knob " + name + " must have 1 to 16 values");
    for (const std::int64_t value : values)
      if (value < 0 || value > std::numeric_limits<std::int32_t>::max())
        return bad("knob " + name + " has a value outside 0 to 2147483647");
  }
  return {};
}

std::string text(const Schedule& schedule) {
  std::string out;
  for (const auto& [name, values] : schedule) {
    out += (out.empty() ? "" : ", ") + name;
    for (std::size_t i = 0; i < values.size(); ++i) out += (i == 0 ? " " : "x") + std::to_string(values[i]);
  }
  return out;
}

}  // namespace kiln
