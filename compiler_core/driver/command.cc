#include "compiler_core/driver/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/runtime/program_abi.h"
#include "manifest/json/json.h"
#include "manifest/json/reader.h"

namespace kiln::driver {
namespace {

constexpr char kVersion[] = "0.1.0";
constexpr std::size_t kMaxSpecBytes = 1 << 20;

}  // namespace

ExitCode exitFor(const Error& error) {
  switch (error.code) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
      return kExitInvalidModel;
    case Code::kUnimplemented:
    case Code::kResourceExhausted:
      return kExitUnsupported;
    default:
      return kExitInternal;
  }
}

std::string errorLine(const Error& error) {
  Json details = Json::object();
  if (!error.details.empty())
    if (auto parsed = parseJson(error.details)) details = std::move(*parsed);
  const Json line = {
      {"error", {{"code", codeName(error.code)}, {"message", error.message}, {"details", details}}}};
  auto text = toCanonicalJson(line);
  if (text) return *text;
  return R"({"error":{"code":"INTERNAL","details":{},"message":"the error has no canonical form"}})";
}

tl::expected<CompileSpec, CommandError> readSpec(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return stop(kExitUsage, {Code::kNotFound,
                             fmt::format("{}: cannot be read; give a CompileSpec (see kiln-cc spec)", path),
                             {}});
  std::ostringstream text;
  text << file.rdbuf();
  if (text.str().size() > kMaxSpecBytes)
    return stop(kExitUsage, {Code::kInvalidArgument, fmt::format("{}: larger than a spec may be", path), {}});
  auto json = parseStrictJson(text.str());
  if (!json) return stop(kExitUsage, json.error().in(path));
  auto spec = CompileSpec::fromJson(*json);
  if (!spec) return stop(kExitUsage, spec.error().in(path));
  return *spec;
}

std::vector<analysis::Profile> profilesOf(const CompileSpec& spec) {
  std::vector<analysis::Profile> profiles;
  for (const ShapeProfile& profile : spec.profiles) {
    analysis::Profile& own = profiles.emplace_back(analysis::Profile{profile.name, {}});
    for (const auto& [name, range] : profile.dims)
      own.dims.push_back({name, range.min, range.opt, range.max});
  }
  return profiles;
}

namespace {

Status addProfileDim(const std::string& text, ShapeProfile& profile) {
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                fmt::format("--profile {}: expected NAME=MIN:OPT:MAX or NAME=N", text));
  };
  // The last '=': a dimension's name may hold one.
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return wrong();
  std::vector<std::int64_t> numbers;
  std::stringstream rest(text.substr(equals + 1));
  for (std::string part; std::getline(rest, part, ':');) {
    auto number = parseDecimal(part);
    if (!number || *number > (std::uint64_t{1} << 53)) return wrong();
    numbers.push_back(static_cast<std::int64_t>(*number));
  }
  if (numbers.size() == 1) numbers.assign(3, numbers[0]);
  if (numbers.size() != 3 || numbers[0] > numbers[1] || numbers[1] > numbers[2]) return wrong();
  if (!profile.dims.try_emplace(text.substr(0, equals), DimRange{numbers[0], numbers[1], numbers[2]}).second)
    return fail(Code::kInvalidArgument, fmt::format("--profile {}: the dimension is given twice", text));
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
    auto profile = std::ranges::find(profiles, name, &ShapeProfile::name);
    if (profile == profiles.end()) profile = profiles.insert(profiles.end(), ShapeProfile{name, {}});
    std::stringstream dims(named ? option.substr(colon + 1) : option);
    for (std::string dim; std::getline(dims, dim, ',');) KILN_TRY(addProfileDim(dim, *profile));
  }
  if (profiles.empty()) profiles.push_back({"default", {}});
  return profiles;
}

Status checkServed(const CompileSpec& spec) {
  const auto refuse = [](const char* member, const std::string& value, const char* served) {
    return fail(
        Code::kUnimplemented,
        fmt::format("{} \"{}\" is not served by this toolchain yet; give \"{}\"", member, value, served));
  };
  if (spec.numerics.reassociation != "off")
    return refuse("numerics.reassociation", spec.numerics.reassociation, "off");
  if (spec.numerics.precision != "f32") return refuse("numerics.precision", spec.numerics.precision, "f32");
  if (spec.fallback != "fail") return refuse("fallback", spec.fallback, "fail");
  if (spec.outOfProfile != "fail") return refuse("outOfProfile", spec.outOfProfile, "fail");
  return {};
}

std::string versionText() {
  return fmt::format("kiln-cc {} (LLVM {}, program ABI {})", kVersion, KILN_LLVM_VERSION, KILN_PROGRAM_ABI);
}

std::string versionJson() {
  return Json{{"name", "kiln"},
              {"version", kVersion},
              {"llvm", KILN_LLVM_VERSION},
              {"programAbi", KILN_PROGRAM_ABI},
              {"targets", servedTargets()}}
      .dump();
}

}  // namespace kiln::driver
