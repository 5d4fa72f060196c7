// What a process that reads hostile repositories takes from itself. Each of these holds for the whole process
// and is not given back. None of them in builds with a sanitizer, whose runtime needs more.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::fetcher {

// No more than 8 GiB of addresses, so that an allocation fails, and an hour of processor time; no core files.
void limitResources();

// SIGPROF ends the process when it has used so much processor time from now on.
void allowProcessorTime(std::chrono::seconds time);

// Files are read and written, memory is used, and nothing else: no network, no programs, no processes.
// kUnavailable where the system has no filter for system calls.
Status refuseOtherCalls();

// Reads below `readable` and writes below `writable` alone, by Landlock; nothing where the kernel has none.
Status restrictFiles(const std::vector<std::string>& readable, const std::string& writable);

}  // namespace kiln::fetcher
