// The bytes of one blob by one HTTP request that somebody else has signed.
#pragma once

#include "storage/blob/blob_store.h"
#include "storage/blob/direct_transfers.h"
#include "storage/s3/retry.h"
#include "storage/s3/transport.h"

namespace kiln::storage {

// Thread safe. What a route says is foreign: kInvalidArgument for one that is no such request. No redirects.
class HttpMover {
 public:
  HttpMover(const s3::Timeouts& timeouts, s3::RetryPolicy retry);

  // Gives `sink` the blob's bytes from `done` on, as many as come, and counts them there; nothing is verified
  // but their number. Goes on where a connection broke. kUnavailable if it could not be reached at all, or
  // not to the end.
  Status get(const BlobRoute& route, std::uint64_t size, std::uint64_t& done, const ByteSink& sink);
  Status put(const BlobRoute& route, const s3::Body& body);

 private:
  s3::Transport transport_;
  const s3::RetryPolicy retry_;
};

}  // namespace kiln::storage
