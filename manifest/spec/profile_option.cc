#include "manifest/spec/profile_option.h"

#include <algorithm>
#include <sstream>

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"
#include "manifest/json/reader.h"
#include "manifest/spec/profile_name.h"

namespace kiln {
namespace {

Status addDim(const std::string& option, const std::string& text, ShapeProfile& profile) {
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                "--profile " + printable(option) +
                    ": give [PROFILE:]DIM=min:opt:max with 1 <= min <= opt <= max, such as "
                    "N=1:4:8, with the number that all sizes are a multiple of as in H=32:640:1280:32, or "
                    "DIM=N for one number (0: the dimension is empty)");
  };
  // The last '=': a dimension's name may hold one.
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || text.back() == ':') return wrong();
  std::vector<std::int64_t> numbers;
  std::stringstream rest(text.substr(equals + 1));
  for (std::string part; std::getline(rest, part, ':');) {
    const auto number = parseDecimal(part);
    if (!number || *number > (std::uint64_t{1} << 53)) return wrong();
    numbers.push_back(static_cast<std::int64_t>(*number));
  }
  if (numbers.size() == 1) numbers.assign(3, numbers[0]);
  if (numbers.size() == 3) numbers.push_back(1);
  if (numbers.size() != 4 || numbers[0] > numbers[1] || numbers[1] > numbers[2]) return wrong();
  const std::string name = text.substr(0, equals);
  if (!isUtf8(name))
    return fail(Code::kInvalidArgument, "--profile " + printable(option) + ": the dimension " +
                                            inQuotes(name) + " is no UTF-8, as the names of models are");
  const DimRange range{numbers[0], numbers[1], numbers[2], numbers[3]};
  if (auto fits = checkRange(name, range); !fits)
    return fail(fits.error().in("--profile " + printable(option)));
  if (!profile.dims.try_emplace(name, range).second)
    return fail(Code::kInvalidArgument,
                "--profile " + printable(option) + ": dimension " + inQuotes(name) + " is given twice");
  return {};
}

}  // namespace

Result<std::vector<ShapeProfile>> parseProfiles(const std::vector<std::string>& options) {
  std::vector<ShapeProfile> profiles;
  for (const std::string& option : options) {
    // A profile's name ends at a ':' before the first '='.
    const std::size_t colon = option.find(':'), equals = option.find('=');
    const bool named = colon != std::string::npos && colon > 0 && colon < equals;
    const std::string name = named ? option.substr(0, colon) : "default";
    if (auto usable = checkProfileName(name); !usable)
      return fail(usable.error().in("--profile " + printable(option)));
    auto profile = std::find_if(profiles.begin(), profiles.end(),
                                [&](const ShapeProfile& other) { return other.name == name; });
    if (profile == profiles.end()) profile = profiles.insert(profiles.end(), ShapeProfile{name, {}});
    std::stringstream parts(named ? option.substr(colon + 1) : option);
    std::string dim;
    for (std::string part; std::getline(parts, part, ',');) {
      dim += dim.empty() ? part : "," + part;
      if (part.find('=') == std::string::npos) continue;  // the ',' is of the name: "floordiv(a, 2)"
      KILN_TRY(addDim(option, dim, *profile));
      dim.clear();
    }
    if (!dim.empty()) KILN_TRY(addDim(option, dim, *profile));
  }
  if (profiles.empty()) profiles.push_back({"default", {}});
  return profiles;
}

}  // namespace kiln
