// The cosignatures of witnesses on a checkpoint: that they saw it, consistent with all they saw before, at a
// time. Source: C2SP tlog-cosignature, cosignature/v1.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "signing/log/verifier_key.h"

namespace kiln::signing {

struct Cosigned {
  std::string witness;  // the name of its key
  TimePoint time;       // whole seconds
};

// `note` is a checkpoint. The time is cut to whole seconds.
Result<NoteSignature> cosign(const Note& note, const std::string& witness, const Ed25519PrivateKey& key,
                             TimePoint time);

// The cosignatures of those of `witnesses` that signed, one per witness, the earliest first. kDataLoss if one
// bears the name and hint of such a key and was not made by it; others are passed over.
Result<std::vector<Cosigned>> readCosignatures(const Note& note, std::span<const VerifierKey> witnesses);

}  // namespace kiln::signing
