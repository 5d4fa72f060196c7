// Fixtures: per profile, inputs and the outputs expected of them. DIR/fixtures/fixtures.json lists .npy
// files.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/runtime/compare/compare.h"
#include "compiler_core/runtime/npy/npy.h"
#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

struct FixtureFiles {
  std::string profile;
  std::vector<std::string> inputs, outputs;  // paths below the fixtures' directory, in the manifest's order
};

struct FixtureList {
  std::vector<FixtureFiles> profiles;
  Tolerance tolerance;
};

// {"version":"1","profiles":[{"name","inputs":[paths],"outputs":[paths]}],"tolerance":{"rtol":"1e-3","atol":"1e-5"}}
// kInvalidArgument names the member.
Result<FixtureList> parseFixtureList(std::string_view json);

// The list of ARTIFACT/fixtures, with one entry for each profile of the manifest. kFailedPrecondition if
// there are no fixtures, kDataLoss if they are malformed or lack a profile.
Result<FixtureList> readFixtureList(const std::string& artifactDirectory, const Manifest& manifest);

// One file of a fixture; kDataLoss names it.
Result<npy::Tensor> readFixture(const std::string& artifactDirectory, const std::string& path);

}  // namespace kiln::runtime
