// Why a job failed, and what `kiln` exits with then.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/exit_code.h"
#include "storage/index/rows/records.h"

namespace kiln::jobs {

index::JobErrorRecord jobError(Code code, std::string message, int exitCode, std::string details = {});
index::JobErrorRecord jobError(const Error& error);

// The failure of a tool that ran to its end with `exitCode` != 0. Its last line of stderr is expected to be
// {"error":{"code","message","details"}}; without one the message says how the tool ended and quotes its last
// line. `tool` is how the message names it ("the compiler"). stderr is hostile: bounded, control characters
// removed.
index::JobErrorRecord toolError(std::string_view tool, int exitCode, std::string_view stderrTail);
// The same of the source fetcher, which has more classes than a compile: what a server does not have, gives
// otherwise than promised, or may not be asked for is no fault of the model.
index::JobErrorRecord fetchError(std::string_view tool, int exitCode, std::string_view stderrTail);

}  // namespace kiln::jobs
