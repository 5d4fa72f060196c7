// What a compile for the IR leaves: output/artifact, as the compile that is published, and output/ir, a file
// per stage.
#pragma once

#include <vector>

#include "coordinator/jobs/evidence.h"
#include "manifest/artifact/oci.h"
#include "manifest/spec/compile_spec.h"

namespace kiln::jobs {

inline constexpr char kIrManifestFile[] = "artifact/manifest.json";

// The IR, by paths below output/ir.
std::vector<ModelFile> irFiles(const Outputs& outputs);

// kFailedPrecondition (exitCode 9), naming the file, unless the artifact that came out beside the IR is
// `artifact`. kUnimplemented (exit 4) where the IR is more than is kept (manifest/statement/ir_statement.h).
Status checkIrOutputs(const Outputs& outputs, const OciManifest& artifact);

}  // namespace kiln::jobs
