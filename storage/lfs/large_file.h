// A file of a commit that Git LFS keeps beside it, on its way to the disk.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/file.h"
#include "manifest/base/result.h"

namespace kiln::lfs {

struct LargeFile {
  std::string path;    // in the commit, for messages
  Digest object;       // what the pointer says
  std::string output;  // a file that is not there yet, in a directory that is
};

// Brings the objects of some files to their places. Where it fails, part of them may be there, cut.
using FetchLargeFiles = std::function<Status(std::span<const LargeFile>)>;

// "'PATH' (Git LFS object sha256:…)", for messages.
std::string describe(const LargeFile& file);

// Writes one object, hashing as it goes. Not thread safe.
class ObjectWriter {
 public:
  // kAlreadyExists where something has the output's name; kUnavailable where there is no room for it.
  static Result<ObjectWriter> open(const LargeFile& file);

  // kDataLoss, before anything is written, beyond the size that the pointer gives.
  Status take(Bytes bytes);
  // kDataLoss unless these were the pointer's bytes, to the last.
  Status finish();

 private:
  ObjectWriter(LargeFile file, UniqueFd output) : file_(std::move(file)), output_(std::move(output)) {}

  LargeFile file_;
  UniqueFd output_;
  Hasher hasher_;
  std::uint64_t taken_ = 0;
};

}  // namespace kiln::lfs
