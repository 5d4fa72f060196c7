// `kiln run --isolated`: the program runs in a process of its own, in the sandbox that the farm's workers
// use.
#pragma once

#include "api/node/open.h"
#include "compiler_core/runtime/batch/run.h"

namespace kiln::cli {

struct IsolatedOptions {
  bool each = false;
  bool checked = false;       // an index outside its dimension is an error: kAborted
  std::uint32_t threads = 0;  // 0: one per processor
};

// The outputs of a verified artifact on `inputs` (each of its inputs once), by kiln-isolated. Nothing of the
// artifact is loaded into this process, and what comes back is held against its manifest. Errors: those of
// the session there; kInternal where the program was ended by a signal; kUnimplemented for an artifact with
// kernels for a device; details carry exitCode 7 where there is no working sandbox.
Result<runtime::Tensors> runIsolated(const node::VerifiedArtifact& artifact, const runtime::Tensors& inputs,
                                     const IsolatedOptions& options);

}  // namespace kiln::cli
