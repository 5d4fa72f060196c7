// The REAPI Action that qualifies a published artifact. Input root: artifact/ (manifest.json, the program,
// weights, kernels, fixtures/), plan/ (check.json and the files it names) and, for an emulated device,
// emulation/ (the code that it runs). The program kiln-check is the worker's own: a check measures a machine
// and is not reproducible. Which device, the worker adds to the command.
#pragma once

#include "coordinator/jobs/action_builder.h"
#include "coordinator/jobs/evidence.h"
#include "manifest/spec/delivery_spec.h"

namespace kiln::jobs {

// Where kiln-cc leaves what an emulated device runs, below its output directory.
inline constexpr char kEmulationPrefix[] = "emulation/";
inline constexpr char kEmulatedManifestFile[] = "artifact/manifest.json";

// kFailedPrecondition for an artifact without fixtures, kInvalidArgument if paths clash. `emulation`: what
// the action kEmulate left; null for a check on a real device.
Result<BuiltAction> buildCheckAction(const index::ArtifactRecord& artifact, const CheckRequest& request,
                                     const Outputs* emulation = nullptr);

}  // namespace kiln::jobs
