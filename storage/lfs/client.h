// Fetching Git LFS objects for the farm's fetcher.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "manifest/base/result.h"
#include "storage/lfs/batch.h"
#include "storage/source/git_fetch.h"
#include "storage/source/git_url.h"

namespace kiln::lfs {

// Of one repository's server, by the batch API and the basic transfer. Not thread safe.
class LfsClient {
 public:
  // `url` is the repository's, https or ssh. The time limit of `options` begins here, and its allow-list
  // holds for the server and for every host that this one sends to; its credentials go to the server's host
  // alone, and its maxTransferBytes bounds what all objects have together.
  static Result<LfsClient> make(const std::string& url, const source::GitFetchOptions& options);

  // Asks for at most 100 objects at once and fetches them in turn; each is hashed as it comes, and ends with
  // the size that its pointer gives it. Errors name file and object, and are those of exchange(), readBatch()
  // and ObjectWriter; kResourceExhausted beyond maxTransferBytes.
  Status fetch(std::span<const LargeFile> files);

 private:
  LfsClient(source::GitUrl server, source::GitFetchOptions options);
  Result<std::vector<Download>> ask(std::span<const LargeFile> files) const;
  Status download(const LargeFile& file, const Download& from) const;

  source::GitUrl server_;
  source::GitFetchOptions options_;
  std::chrono::steady_clock::time_point deadline_;
  std::uint64_t left_;
};

}  // namespace kiln::lfs
