// Why a job failed, and what `kiln` exits with: DESIGN section 9.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"
#include "storage/index/records.h"

namespace kiln::jobs {

inline constexpr int kExitInternal = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInvalidModel = 3;
inline constexpr int kExitUnsupported = 4;
inline constexpr int kExitVerification = 5;
inline constexpr int kExitNotFound = 6;
inline constexpr int kExitUnavailable = 7;
inline constexpr int kExitDenied = 8;
inline constexpr int kExitNotReproducible = 9;

// The exit code for an error of the farm itself (not of the compiler, which chooses its own).
int exitCodeFor(Code code);

index::JobErrorRecord jobError(Code code, std::string message, int exitCode, std::string details = {});
index::JobErrorRecord jobError(const Error& error);

// The failure of a tool that ran to its end with `exitCode` != 0. Its last line of stderr is expected to be
// {"error":{"code","message","details"}}; without one the message says how the tool ended and quotes its last
// line. `tool` is how the message names it ("the compiler"). stderr is hostile: bounded, control characters
// removed.
index::JobErrorRecord toolError(std::string_view tool, int exitCode, std::string_view stderrTail);

}  // namespace kiln::jobs
