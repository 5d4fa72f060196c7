// The logs and witnesses of a trust root at work: whether a checkpoint is one of theirs.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "signing/log/checkpoint.h"
#include "signing/log/cosignature.h"
#include "signing/trust/trust_root.h"

namespace kiln::signing {

// Thread safe.
class RootLogs {
 public:
  explicit RootLogs(const TrustRoot& root);

  bool empty() const { return logs_.empty(); }
  // The keys are of the kinds kEd25519 and kCosignature.
  std::span<const VerifierKey> logs() const { return keys_; }
  std::span<const VerifierKey> witnesses() const { return witnesses_; }

  // Whether the log's key of this id (VerifierKey::id) was valid at that time.
  bool isValid(std::string_view logId, TimePoint at) const;

  struct Seen {
    Checkpoint checkpoint;
    std::vector<Cosigned> cosigned;  // by the root's witnesses, the earliest first
  };
  // A checkpoint that one of the logs signed, with a key that was valid when witnesses saw it or, if none
  // did, had not ended by `named`, when somebody who is believed named it. kPermissionDenied (exit code 5) if
  // it is of no log of the root or the key was not valid; kDataLoss if a signature does not hold;
  // kInvalidArgument if it is malformed.
  Result<Seen> open(std::string_view note, TimePoint named) const;

 private:
  struct Validity {
    std::string id;
    TimePoint from, until;
  };
  std::vector<Validity> logs_;
  std::vector<VerifierKey> keys_, witnesses_;
};

}  // namespace kiln::signing
