// A cluster's result, read as what a stranger says, and its files on their way to the farm.
#pragma once

#include <map>
#include <string>

#include "worker/cluster/inputs.h"
#include "worker/sandbox/policy.h"

namespace kiln::cluster {

struct ResultFile {
  Digest digest;
  bool executable = false;
};

// The files of a successful result, by their paths from the input root. Reads OutputDirectories in both
// forms (a Tree message, or a root Directory) and OutputFiles. kDataLoss, saying what, unless everything lies
// below `output`, is a regular file or a directory, has a path that the sandbox would have let through, is
// there once, and stays within the sandbox's limits; and for a result without any file. Errors of the
// cluster's store as ofCluster().
Result<std::map<std::string, ResultFile>> filesOf(const reapi::ActionResult& result,
                                                  const std::string& output, const sandbox::Limits& limits,
                                                  const Store& cluster);

// Fetches each of these blobs from the cluster, hashes it, and has the farm store it unless it is there.
// What the farm has already is fetched and hashed all the same: the cluster must have what it says it made.
Status fetchOutputs(const std::map<std::string, ResultFile>& files, const Store& cluster, const Store& farm,
                    const sandbox::Cancel* cancel);

// stdout or stderr, whichever way it was sent; the middle of a longer one than `most` is left out.
Result<std::string> logOf(const std::string& raw, const reapi::Digest* stored, std::uint64_t most,
                          const Store& cluster);

}  // namespace kiln::cluster
