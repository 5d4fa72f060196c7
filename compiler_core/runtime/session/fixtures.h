// Fixtures: per profile, inputs and the outputs expected of them. DIR/fixtures/fixtures.json lists .npy
// files (manifest/artifact/fixture_list.h). Their digests are checked before an artifact gets here, with its
// signatures.
#pragma once

#include <string>

#include "compiler_core/runtime/npy/npy.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

// The list of ARTIFACT/fixtures, with an entry for each profile of the manifest and those of boundaries; each
// has as many inputs and outputs as the manifest. kFailedPrecondition if there are no fixtures, kDataLoss if
// they are malformed or lack a profile.
Result<FixtureList> readFixtureList(const std::string& artifactDirectory, const Manifest& manifest);

// One file of a fixture, of a tensor of type `dtype`; kDataLoss names it.
Result<npy::Tensor> readFixture(const std::string& artifactDirectory, const std::string& path, DType dtype);

}  // namespace kiln::runtime
