#include "compiler_core/runtime/session/fixtures.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "compiler_core/runtime/session/artifact.h"
#include "manifest/json/reader.h"
#include "manifest/spec/path.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t kMaxProfiles = 256;

std::string fixturesDirectory(const std::string& artifact) {
  return artifact + "/fixtures";
}

// A non-negative decimal as a string; JSON numbers are not used for fractions in Kiln's documents.
Result<double> readDecimal(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(const std::string text, reader.string(name));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0) {
    return badMember(reader.path(name), "must be a decimal number as a string");
  }
  return value;
}

Result<std::vector<std::string>> readPaths(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::vector<std::string> paths, reader.strings(name));
  for (const std::string& path : paths) {
    if (const Status safe = checkRelativePath(path); !safe)
      return badMember(reader.path(name), safe.error().message);
  }
  return paths;
}

}  // namespace

Result<FixtureList> parseFixtureList(std::string_view text) {
  KILN_ASSIGN(const Json json, parseStrictJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  KILN_TRY(reader.expect("version", "1"));
  FixtureList list;
  KILN_ASSIGN(const Json* profiles, reader.array("profiles"));
  if (profiles->size() > kMaxProfiles) return badMember("profiles", "more than 256 profiles");
  for (std::size_t i = 0; i < profiles->size(); ++i) {
    KILN_ASSIGN(ObjectReader entry,
                ObjectReader::open((*profiles)[i], "profiles[" + std::to_string(i) + "]"));
    FixtureFiles files;
    KILN_ASSIGN(files.profile, entry.string("name"));
    KILN_ASSIGN(files.inputs, readPaths(entry, "inputs"));
    KILN_ASSIGN(files.outputs, readPaths(entry, "outputs"));
    KILN_TRY(entry.finish());
    list.profiles.push_back(std::move(files));
  }
  KILN_ASSIGN(ObjectReader tolerance, reader.object("tolerance"));
  KILN_ASSIGN(list.tolerance.relative, readDecimal(tolerance, "rtol"));
  KILN_ASSIGN(list.tolerance.absolute, readDecimal(tolerance, "atol"));
  KILN_TRY(tolerance.finish());
  KILN_TRY(reader.finish());
  return list;
}

Result<FixtureList> readFixtureList(const std::string& artifactDirectory, const Manifest& manifest) {
  const std::string path = fixturesDirectory(artifactDirectory) + "/fixtures.json";
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    return fail(Code::kFailedPrecondition,
                path +
                    ": the artifact has no fixtures to warm up with; fetch them with it "
                    "(kiln fetch), or open the session with run_before_ready");
  }
  KILN_ASSIGN(const std::string text, readDocument(path));
  auto list = parseFixtureList(text);
  if (!list) return fail(Code::kDataLoss, list.error().in(path).message);
  for (const ShapeProfile& profile : manifest.spec.profiles) {
    const auto entry = std::find_if(list->profiles.begin(), list->profiles.end(),
                                    [&](const FixtureFiles& files) { return files.profile == profile.name; });
    if (entry == list->profiles.end()) {
      return fail(Code::kDataLoss, path + ": no fixture for the profile \"" + profile.name + "\"");
    }
    if (entry->inputs.size() != manifest.inputs.size() || entry->outputs.size() != manifest.outputs.size()) {
      return fail(Code::kDataLoss, path + ": the fixture of \"" + profile.name + "\" has " +
                                       std::to_string(entry->inputs.size()) + " inputs and " +
                                       std::to_string(entry->outputs.size()) + " outputs, the manifest has " +
                                       std::to_string(manifest.inputs.size()) + " and " +
                                       std::to_string(manifest.outputs.size()));
    }
  }
  return list;
}

Result<npy::Tensor> readFixture(const std::string& artifactDirectory, const std::string& path) {
  auto tensor = npy::read(fixturesDirectory(artifactDirectory) + "/" + path);
  if (!tensor) return fail(Code::kDataLoss, tensor.error().message);
  return tensor;
}

}  // namespace kiln::runtime
