// kiln-cc reference: writes fixtures, which are seeded inputs and what the reference evaluator makes of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/commands/fixture_tolerance.h"
#include "compiler_core/driver/evaluate_reference.h"
#include "compiler_core/package/files.h"
#include "compiler_core/runtime/npy/npy.h"
#include "manifest/artifact/fixture_list.h"

namespace kiln::driver {
namespace {

constexpr std::uint64_t kSeed = 1;  // of version 1 of the fixtures

using Tensors = std::vector<reference::HostTensor>;
using Digests = std::map<std::string, Digest>;  // of the files written, by path

Result<Json> writeTensors(const Tensors& tensors, const std::string& out, const std::string& profile,
                          const char* kind, Digests& digests) {
  Json paths = Json::array();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string path = fmt::format("{}/{}_{}.npy", profile, kind, i);
    const auto bytes = npy::serialise({tensors[i].dtype, tensors[i].shape, tensors[i].bytes});
    KILN_ASSIGN(digests[path], package::writeFile(out + "/" + path, bytes));
    paths.push_back(path);
  }
  return paths;
}

// The files of one point of a profile, in its folder.
Result<Json> writeProfile(const ReferenceResult& result, const FixtureTolerance& tolerance,
                          const std::string& out, const std::string& profile, Digests& digests) {
  KILN_TRY(package::makeDirectory(out + "/" + profile));
  KILN_ASSIGN(const Json inputs, writeTensors(result.inputValues, out, profile, "input", digests));
  KILN_ASSIGN(const Json outputs, writeTensors(result.outputValues, out, profile, "output", digests));
  Json written{{"name", profile}, {"inputs", inputs}, {"outputs", outputs}};
  if (!tolerance.absolute.empty()) written["atol"] = tolerance.absolute;
  return written;
}

// Where a profile is evaluated.
struct Point {
  std::string name;
  std::map<std::string, std::int64_t> dims;
};

// The shapes that it is made for, and where it leaves something open both ends of every range: at these the
// plan and the guards are at their limits.
std::vector<Point> pointsOf(const ShapeProfile& profile) {
  Point opt{profile.name, {}}, min{profile.name + kAtMin, {}}, max{profile.name + kAtMax, {}};
  for (const auto& [name, range] : profile.dims) {
    opt.dims[name] = range.opt;
    min.dims[name] = range.min;
    max.dims[name] = range.max;
  }
  std::vector<Point> points = {opt};
  if (min.dims != opt.dims) points.push_back(std::move(min));
  if (max.dims != opt.dims) points.push_back(std::move(max));
  return points;
}

// Fixtures are made at both ends of a range, so a range must end where it can be evaluated.
Error tooLarge(const Point& point, const Error& error) {
  std::vector<std::string> sizes;
  for (const auto& [dim, size] : point.dims) sizes.push_back(fmt::format("{}={}", dim, size));
  if (sizes.empty()) return error.in("the model's fixtures");
  Error result = error.in(fmt::format("profile \"{}\", fixtures for {}", point.name, fmt::join(sizes, ",")));
  result.message += "; give --profile a smaller largest size";
  return result;
}

Status writeList(const Json& profiles, const Digests& digests, const std::string& relativeTolerance,
                 const std::string& out) {
  Json files = Json::array();
  for (const auto& [path, digest] : digests)
    files.push_back({{"path", path}, {"digest", digest.text()}, {"size", std::to_string(digest.size)}});
  const Json document = {{"version", "1"},
                         {"files", std::move(files)},
                         {"profiles", profiles},
                         {"tolerance", {{"rtol", relativeTolerance}, {"atol", kAbsoluteTolerance}}}};
  KILN_ASSIGN(const std::string text, toCanonicalJson(document));
  KILN_TRY(parseFixtureList(text));  // nothing is written that a reader would refuse
  KILN_TRY(package::writeFile(out + "/" + kFixtureList, asBytes(text)));
  return {};
}

}  // namespace

CommandResult referenceCommand(const ReferenceArguments& arguments) {
  auto spec = readSpec(arguments.spec);
  if (!spec) return tl::make_unexpected(spec.error());
  auto paths = locate(arguments.model);
  if (!paths) return tl::make_unexpected(paths.error());
  auto parameters = parametersOf(*spec, *paths);
  if (!parameters) return stop(parameters.error());
  paths->parameters = std::move(*parameters);
  fmt::print(stderr, "stage: reference\n");
  Json profiles = Json::array();
  Digests digests;
  std::string relativeTolerance;
  for (const ShapeProfile& profile : spec->profiles) {
    for (const Point& point : pointsOf(profile)) {
      auto result = evaluateReference(*paths, point.dims, spec->pins, spec->sequences, kSeed);
      if (!result && result.error().code == Code::kResourceExhausted)
        return stop(tooLarge(point, result.error()));
      if (!result) return stop(result.error());
      const FixtureTolerance tolerance = toleranceOf(*result, appliedNumerics(*spec));
      auto written = writeProfile(*result, tolerance, arguments.out, point.name, digests);
      if (!written) return stop(exitCodeOf(written.error().code), written.error());
      profiles.push_back(std::move(*written));
      relativeTolerance = tolerance.relative;
    }
  }
  if (auto written = writeList(profiles, digests, relativeTolerance, arguments.out); !written)
    return stop(exitCodeOf(written.error().code), written.error());
  return {};
}

}  // namespace kiln::driver
