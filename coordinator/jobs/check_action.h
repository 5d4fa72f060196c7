// The REAPI Action that qualifies a published artifact. Input root: artifact/ (manifest.json, the program,
// weights, fixtures/) and plan/ (check.json and the files it names). The program kiln-check is the worker's
// own: a check measures a machine and is not reproducible.
#pragma once

#include "coordinator/jobs/action_builder.h"
#include "manifest/spec/delivery_spec.h"

namespace kiln::jobs {

// kFailedPrecondition for an artifact without fixtures, kInvalidArgument if paths clash.
Result<BuiltAction> buildCheckAction(const index::ArtifactRecord& artifact, const CheckRequest& request);

}  // namespace kiln::jobs
