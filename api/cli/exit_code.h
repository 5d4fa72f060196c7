// What `kiln` exits with: a contract that scripts rely on.
#pragma once

#include "manifest/base/result.h"

namespace kiln::cli {

enum ExitCode : int {
  kOk = 0,
  kInternal = 1,
  kUsage = 2,
  kInvalidModel = 3,
  kUnsupported = 4,  // or over budget
  kVerificationFailed = 5,
  kNotFound = 6,
  kUnavailable = 7,
  kDenied = 8,
  kNotReproducible = 9,
  kCheckFailed = 10,
};

// By the error's code; "exitCode" in its details, as a failed job carries it, comes first.
int exitCodeOf(const Error& error);

// An error that ends `kiln` with `exit` whatever its code.
Error withExit(int exit, Code code, std::string message);

}  // namespace kiln::cli
