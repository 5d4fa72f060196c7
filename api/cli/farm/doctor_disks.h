// Whether there is room where a farm and its commands write: a full disk shows elsewhere as a worker that is
// lost or a log that does not go on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/cli/farm/doctor_finding.h"

namespace kiln::cli {

// What statvfs(3) says of a file system. Sizes in bytes, for users who are not root; zero inodes in all: it
// has no fixed number of them.
struct DiskFacts {
  std::uint64_t size = 0, free = 0;
  std::uint64_t inodes = 0, freeInodes = 0;
  bool readOnly = false;
};

// About the file system that holds these places. Missing: nothing can be written there any more, or hardly
// anything (less than 256 MiB or 1000 inodes); a warning below a twentieth of either.
Finding judgeDisk(const std::vector<std::string>& places, const DiskFacts& facts);

// One finding for each file system that holds a place where something is written: the folder for temporary
// files, and of the farm in directory `farm` ("" for none) its state, store, database, log, logs and workers.
std::vector<Finding> checkDisks(const std::string& farm);

}  // namespace kiln::cli
