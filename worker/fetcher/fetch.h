// One model from one commit into a directory: the whole of what kiln-fetcher does between its flags and its
// exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "storage/lfs/large_file.h"

namespace kiln::fetcher {

struct Limits {
  std::uint64_t fileBytes = 2ull << 30;   // of one that is read from the commit, and of the model
  std::uint64_t totalBytes = 8ull << 30;  // and of one data file that Git LFS keeps
  std::size_t files = 4096;
};

// Reads a file of the commit, at most `limit` bytes.
using ReadFile = std::function<Result<std::string>(const std::string& path, std::uint64_t limit)>;

// Where a commit's files come from: what lies in it, and what Git LFS keeps in the place of a pointer there.
struct Commit {
  ReadFile read;
  lfs::FetchLargeFiles fetchLarge;
};

// Writes the file at `path` of the commit to `out` under its last name, and the external data that it names,
// if it is an ONNX model, to the same relative paths below `out`; where the commit has a Git LFS pointer, the
// object that it stands for, and never the pointer. kInvalidArgument, with exitCode 3 in the details, for a
// location outside the model's directory and a broken pointer, kNotFound for data that the commit lacks,
// kOutOfRange and kResourceExhausted beyond the limits, kUnavailable where there is no room for it; errors of
// `commit`.
Status writeModel(const Commit& commit, const std::string& path, const std::string& out,
                  const Limits& limits = {});

}  // namespace kiln::fetcher
