// What the system must allow a process for `kiln` to work.
#pragma once

#include "manifest/base/result.h"

namespace kiln::cli {

// Raises this process's soft limits of open files, memory and stack as far as they may be where they are too
// low. kResourceExhausted naming the limit and how to raise it where that is not enough: gRPC and new threads
// would end the process without a word. Call it before there are threads.
Status checkLimits();

}  // namespace kiln::cli
