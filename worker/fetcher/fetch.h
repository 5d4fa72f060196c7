// One model from one commit into a directory: the whole of what kiln-fetcher does between its flags and its
// exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::fetcher {

struct Limits {
  std::uint64_t fileBytes = 2ull << 30;
  std::uint64_t totalBytes = 8ull << 30;
  std::size_t files = 4096;
};

// Reads a file of the commit, at most `limit` bytes.
using ReadFile = std::function<Result<std::string>(const std::string& path, std::uint64_t limit)>;

// Writes the file at `path` of the commit to `out` under its last name, and the external data that it names,
// if it is an ONNX model, to the same relative paths below `out`. kInvalidArgument, with exitCode 3 in the
// details, for a location outside the model's directory, kNotFound for data that the commit lacks,
// kResourceExhausted beyond the limits, kUnavailable where there is no room for it.
Status writeModel(const ReadFile& read, const std::string& path, const std::string& out,
                  const Limits& limits = {});

}  // namespace kiln::fetcher
