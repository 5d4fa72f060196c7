// One model, a file or a folder, from one commit into a directory: the whole of what kiln-fetcher does
// between its flags and its exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "manifest/base/result.h"
#include "storage/lfs/large_file.h"
#include "storage/source/git_repository.h"

namespace kiln::fetcher {

struct Limits {
  std::uint64_t fileBytes = 2ull << 30;   // of one that is read from the commit, and of the model
  std::uint64_t totalBytes = 8ull << 30;  // and of one data file that Git LFS keeps
  std::size_t files = 4096;
};

// The most entries of a folder that are looked at.
inline constexpr std::size_t kMaxEntries = 10'000;

// Reads a file of the commit, at most `limit` bytes.
using ReadFile = std::function<Result<std::string>(const std::string& path, std::uint64_t limit)>;

// CommitTree::list().
using ListFolder = std::function<Result<std::optional<source::CommitTree::Listing>>(const std::string& path)>;

// Where a commit's files come from: what lies in it, and what Git LFS keeps in the place of a pointer there.
struct Commit {
  ReadFile read;
  ListFolder list;
  lfs::FetchLargeFiles fetchLarge;
};

// Writes the file at `path` of the commit to `out` under its last name, and the external data that it names,
// if it is an ONNX model, to the same relative paths below `out`; where the commit has a Git LFS pointer, the
// object that it stands for, and never the pointer.
//
// Of a folder it writes the model that frontend::chooseModel() finds in it, that one's external data, and of
// a StableHLO program the weights that lie there, as fetched_model.h has them; the rest of the folder is not
// written. What Git LFS keeps is taken for a model by its name alone, and no other object is fetched to be
// looked at.
//
// kInvalidArgument, with exitCode 3 in the details, for a location outside the model's directory, names that
// the farm itself uses and a broken pointer, kNotFound for data that the commit lacks, kOutOfRange and
// kResourceExhausted beyond the limits, kUnavailable where there is no room for it, kUnimplemented for an
// index of weights that Git LFS keeps; errors of `commit` and of chooseModel().
Status writeModel(const Commit& commit, const std::string& path, const std::string& out,
                  const Limits& limits = {});

}  // namespace kiln::fetcher
