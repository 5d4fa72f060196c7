// Whether a log that one trusts holds a signature: what a bundle's log entry proves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "signing/bundle/bundle.h"
#include "signing/log/cosignature.h"
#include "signing/log/verifier_key.h"

namespace kiln::signing {

struct LogProof {
  std::string origin;       // the log's name
  std::uint64_t index = 0;  // of the leaf: order within this log
  std::uint64_t treeSize = 0;
  // By trusted witnesses, one each, the earliest first: the leaf was in the log by that time, says the
  // witness. Only this is time that the log's keeper did not choose.
  std::vector<Cosigned> cosigned;
};

// What the bundle's log entry proves of its signature by `key`, which the caller has verified. `logs` are
// keys of kind kEd25519, `witnesses` of kind kCosignature; both as the trust root lists them.
//  - kNotFound: the bundle has no log entry.
//  - kPermissionDenied: it is of a log that is not among `logs`.
//  - kDataLoss: the entry is about another signature, payload or key; the log's key did not sign the
//    checkpoint, or a witness's did not make its cosignature; the proof does not lead to the checkpoint's
//    root.
//  - kInvalidArgument: the checkpoint is malformed.
Result<LogProof> checkLogEntry(const Bundle& bundle, const PublicKey& key, std::span<const VerifierKey> logs,
                               std::span<const VerifierKey> witnesses);

}  // namespace kiln::signing
