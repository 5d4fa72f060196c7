// Whether an action is the compile of a spec: the link between what workers ran and what the provenance
// claims.
#pragma once

#include <string>

#include "manifest/spec/compile_spec.h"
#include "signing/server/closure.h"
#include "storage/blob/blob_store.h"

namespace kiln::signing {

// Reads Action, Command and Directories from the store. kFailedPrecondition unless the command is kiln-cc's
// compile, the input root holds nothing but toolchain/ (the spec's tree) and input/, and input/ holds nothing
// but spec.json (the spec in canonical JSON) and the spec's files and tuning.
Status checkAction(storage::BlobStore& store, const std::string& instance, const Digest& action,
                   const CompileSpec& spec);

// The same for the compile that leaves the artifact in output/artifact and the IR behind each stage in
// output/ir.
Status checkIrAction(storage::BlobStore& store, const std::string& instance, const Digest& action,
                     const CompileSpec& spec);

// The same for the check of an artifact: the command is kiln-check's, the input root holds nothing but
// artifact/ (the closure's manifest.json and layers, with fixtures/) and plan/ with `plan` as check.json.
// Where the check says that its device is `emulated`, also emulation/, whose files are named after layers.
Status checkCheckAction(storage::BlobStore& store, const std::string& instance, const Digest& action,
                        const Closure& closure, const Digest& plan, bool emulated);

// The same for a tuning: the command is kiln-cc's tune, and the plan in input/plan/ is this one.
Status checkTuneAction(storage::BlobStore& store, const std::string& instance, const Digest& action,
                       const Digest& plan);

}  // namespace kiln::signing
