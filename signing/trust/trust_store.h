// The state that a client keeps about the root that it was named: a file "<root>.state" beside it, mode 0600.
// With it an older root, an older recalls.json and a clock that was turned back are noticed.
#pragma once

#include <string>

#include "signing/trust/trust_root.h"

namespace kiln::signing {

// Thread safe once opened, but for remember*().
class TrustStore {
 public:
  // Reads the root at `path`, checks its signatures and holds it against what is remembered. A root of
  // another content must be a successor of the one seen before (checkSuccessor). kDataLoss for a rollback,
  // signatures that are missing, a damaged state, or a signed root that became an unsigned one. Errors name
  // the path. Nothing is remembered of a development root that delegates nothing.
  static Result<TrustStore> open(const std::string& path);

  const TrustRoot& root() const { return root_; }
  // The latest time at which witnesses had cosigned a log, as far as this client knows: it is not earlier.
  TimePoint latestSeen() const { return latestSeen_; }
  // The newest recalls.json that was remembered; "" for none.
  const std::string& recalls() const { return recalls_; }

  // Both are durable on return, and never overwrite what another process has learnt later. Where the folder
  // cannot be written (a read-only mount), nothing is kept: then whoever fills it decides what is there.
  Status rememberTime(TimePoint cosigned);
  // `recalls` is of that version and was found to be signed by this root's recall keys.
  Status rememberRecalls(const std::string& recalls, std::uint64_t version);

 private:
  std::string path_;
  TrustRoot root_;
  bool kept_ = false;
  TimePoint latestSeen_{};
  std::string recalls_;
};

}  // namespace kiln::signing
