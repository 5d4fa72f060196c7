// The identities of what a job runs: compiles and references (storage/action/compiler_action.h) and fetches.
#pragma once

#include "storage/action/compiler_action.h"
#include "storage/index/rows/records.h"

namespace kiln::jobs {

using storage::BuiltAction;
using storage::referenceSpec;

// kInvalidArgument if the spec's file paths are unsafe or clash. `kind` is kReference, kCompile, kEmulate,
// kPlan or kIr.
Result<BuiltAction> buildAction(index::ActionKind kind, const CompileSpec& spec);

// A fetch has no REAPI action; its identity is the digest of {"commit","path","url"} in canonical JSON.
Digest fetchAction(const index::GitSource& source);

}  // namespace kiln::jobs
