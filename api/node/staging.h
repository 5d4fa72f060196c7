// A directory in the making beside its final place. Nothing is visible under the final name until commit();
// on any failure, everything is removed again, and what a process that was killed left of it with the next
// one for the same place.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/file.h"
#include "manifest/base/new_directory.h"
#include "manifest/base/result.h"
#include "storage/blob/blob_store.h"

namespace kiln::node {

// Hands a file out piece by piece. It is opened without following a link.
Status streamFile(const std::string& path, const storage::ByteSink& sink);

// Not thread safe.
class Staging {
 public:
  // `destination` must not exist, or be an empty directory (kAlreadyExists otherwise); its parent must exist.
  static Result<Staging> begin(const std::string& destination);

  // `name` is relative and plain; folders are made as needed. Files are read-only once written.
  Status write(const std::string& name, Bytes bytes);

  // Streams a blob into a file. kDataLoss (exitCode 5) if what arrives is longer, shorter or other than
  // `digest`; a source that does not end is stopped at the declared size. With a `sink`, which sees the bytes
  // too, it is the caller who hashes them there, so that it is done once; without one they are hashed here.
  Status download(const std::string& name, const Digest& digest, storage::BlobStore& store,
                  const std::string& instance, const storage::ByteSink& sink);

  // The same from a file, which is opened without following a link.
  Status copy(const std::string& name, const Digest& digest, const std::string& path);

  // The same from a function that hands out the bytes.
  Status receive(const std::string& name, const Digest& digest, const storage::ByteSink& sink,
                 const std::function<Status(const storage::ByteSink&)>& source);

  // Flushes everything to disk and gives the directory its name.
  Status commit();

  const std::string& path() const { return directory_.path(); }  // of the directory in the making

 private:
  explicit Staging(NewDirectory directory) : directory_(std::move(directory)) {}
  Result<UniqueFd> create(const std::string& name);

  NewDirectory directory_;
};

}  // namespace kiln::node
