#include "compiler_core/runtime/session/fixtures.h"

#include <sys/stat.h>

#include <algorithm>

#include "compiler_core/runtime/session/artifact.h"

namespace kiln::runtime {
namespace {

std::string fixturesDirectory(const std::string& artifact) {
  return artifact + "/fixtures";
}

}  // namespace

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
    if (std::ranges::find(list->profiles, profile.name, &FixtureProfile::name) == list->profiles.end())
      return fail(Code::kDataLoss, path + ": no fixture for the profile \"" + profile.name + "\"");
  }
  for (const FixtureProfile& entry : list->profiles) {
    if (entry.inputs.size() != manifest.inputs.size() || entry.outputs.size() != manifest.outputs.size()) {
      return fail(Code::kDataLoss, path + ": the fixture of \"" + entry.name + "\" has " +
                                       std::to_string(entry.inputs.size()) + " inputs and " +
                                       std::to_string(entry.outputs.size()) + " outputs, the manifest has " +
                                       std::to_string(manifest.inputs.size()) + " and " +
                                       std::to_string(manifest.outputs.size()));
    }
  }
  return list;
}

Result<npy::Tensor> readFixture(const std::string& artifactDirectory, const std::string& path, DType dtype) {
  auto tensor = npy::read(fixturesDirectory(artifactDirectory) + "/" + path, dtype);
  if (!tensor) return fail(Code::kDataLoss, tensor.error().message);
  return tensor;
}

}  // namespace kiln::runtime
