// What of the store goes along with a result, where a client hints that it wants it.
#pragma once

#include <set>
#include <string>

#include "storage/blob/blob_store.h"
#include "storage/tree/digest_proto.h"

namespace kiln::reapi_cache {

// Bytes that are inlined in one answer, and what an answer may have in all: it fits a message of 4 MiB.
inline constexpr std::uint64_t kMaxInlined = 1 << 20;
inline constexpr std::uint64_t kMaxAnswer = (4 << 20) - (64 << 10);

// A client's hints.
struct Inlining {
  bool standardOutput = false, standardError = false;
  std::set<std::string> files;  // by the paths of their outputs

  // Of an ExecuteRequest or a GetActionResultRequest.
  template <class Request>
  static Inlining askedBy(const Request& request) {
    return {request.inline_stdout(),
            request.inline_stderr(),
            {request.inline_output_files().begin(), request.inline_output_files().end()}};
  }
};

// Adds what is asked for to `result`, in the order stdout, stderr, files, as far as the bounds allow; the
// rest has its digest. Errors of the store; what had been added by then stays.
Status addInlined(storage::BlobStore& blobs, const std::string& instance, const Inlining& wanted,
                  reapi::ActionResult& result);

}  // namespace kiln::reapi_cache
