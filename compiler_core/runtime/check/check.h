// Qualifies an artifact on this machine: its fixtures, a user's goldens and metrics, memory against the plan,
// load, warmup, first-run and steady times.
#pragma once

#include <string>

#include "compiler_core/runtime/check/plan.h"
#include "compiler_core/runtime/check/report.h"
#include "compiler_core/runtime/kiln_runtime.h"

namespace kiln::runtime {

// `artifact` is a verified directory with fixtures, `planDirectory` holds the plan's files. A wrong result is
// an item that did not pass; `options` say on how many threads and which device; an error is a check that
// could not be made: the runtime's errors (runtime.h), kInvalidArgument for a plan that does not fit the
// artifact, kNotFound for a missing file.
Result<CheckReport> check(const std::string& artifact, const CheckPlan& plan,
                          const std::string& planDirectory, kiln_session_options options);

// What the processor calls itself ("Intel(R) Xeon(R) ..."), "" where it does not say.
std::string processorName();
// Whether its instructions are translated (QEMU's TCG says so), as far as can be seen.
bool isEmulated();

}  // namespace kiln::runtime
