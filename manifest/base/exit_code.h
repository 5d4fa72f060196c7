// The exit codes of Kiln's programs: a contract that scripts rely on. A failed job carries one too.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln {

enum ExitCode : int {
  kExitOk = 0,
  kExitInternal = 1,
  kExitUsage = 2,
  kExitInvalidModel = 3,
  kExitUnsupported = 4,  // or over budget
  kExitVerification = 5,
  kExitNotFound = 6,
  kExitUnavailable = 7,
  kExitDenied = 8,
  kExitNotReproducible = 9,
  kExitCheck = 10,
  kExitCancelled = 11,
};

// For an error that does not say more than its code.
ExitCode exitCodeOf(Code code);

// Exit codes above this are an end by a signal, as a shell reports it.
inline constexpr int kKilledBySignal = 128;
// "signal 6 (Aborted)" of such an exit code.
std::string signalText(int exitCode);

}  // namespace kiln
