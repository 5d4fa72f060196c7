// The exit code of `kiln`, from the error that ended it.
#pragma once

#include "manifest/base/exit_code.h"

namespace kiln::cli {

// By the error's code; "exitCode" in its details, as a failed job carries it, comes first.
int exitCodeOf(const Error& error);

// An error that ends `kiln` with `exit` whatever its code.
Error withExit(int exit, Code code, std::string message);

}  // namespace kiln::cli
