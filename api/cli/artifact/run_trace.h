// A run as a trace for viewers of Chrome's Trace Event Format (chrome://tracing, Perfetto, Speedscope): what
// each thread did when, with the schedule of each kernel.
#pragma once

#include <string>

#include "api/node/open.h"
#include "compiler_core/runtime/runtime.h"

namespace kiln::cli {

// Writes what `session`, opened with KILN_MEASURE_SPANS, kept of runs on `inputs`, in the JSON object form of
// the format: a complete event ("X") per span, in microseconds since the session was opened, and a name per
// thread ("M"). A kernel's event says which of the model's nodes it computes, and rule, loops, schedule and
// signature as the manifest's stages have them, each to 1 KiB. tests/api/cli/artifact/trace.schema.json says
// the form. A file that is there is replaced once the new one is complete.
Status writeTrace(const std::string& path, const runtime::Session& session,
                  const node::VerifiedArtifact& verified, const std::vector<runtime::NamedTensor>& inputs);

}  // namespace kiln::cli
