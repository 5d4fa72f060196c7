#include "compiler_core/driver/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

Result<std::map<std::string, std::int64_t>> dimsOf(const CompileSpec& spec) {
  if (spec.profiles.size() != 1)
    return fail(Code::kUnimplemented,
                "several shape profiles are not served by this toolchain yet; give one");
  const ShapeProfile& profile = spec.profiles.front();
  std::vector<analysis::ProfileDim> dims;
  for (const auto& [name, range] : profile.dims) dims.push_back({name, range.min, range.opt, range.max});
  return analysis::pinnedDims(profile.name, dims);
}

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
