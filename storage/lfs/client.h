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
  // `url` is the repository's, https or ssh; `config` is its `.lfsconfig`, "" for none (lfs_config.h). The
  // time limit of `options` begins here, and its allow-list holds for the server and for every host that this
  // one sends to; its credentials go to the repository's host alone, and its maxTransferBytes bounds what all
  // objects have together.
  static Result<LfsClient> make(const std::string& url, const source::GitFetchOptions& options,
                                const std::string& config = "");

  // Asks for at most 100 objects at once and fetches them in turn; each is hashed as it comes, and ends with
  // the size that its pointer gives it. Errors name file and object, and are those of exchangeFollowed(),
  // readBatch() and ObjectWriter; kResourceExhausted beyond maxTransferBytes.
  Status fetch(std::span<const LargeFile> files);

 private:
  LfsClient(std::string server, source::GitUrl place, source::GitUrl own, source::GitFetchOptions options);
  Result<std::vector<Download>> ask(std::span<const LargeFile> files) const;
  Status download(const LargeFile& file, const Download& from) const;

  std::string server_;    // its address
  source::GitUrl place_;  // of that
  source::GitUrl own_;    // of the repository, whose credentials they are
  source::GitFetchOptions options_;
  std::chrono::steady_clock::time_point deadline_;
  std::uint64_t left_;
};

}  // namespace kiln::lfs
