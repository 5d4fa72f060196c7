// Envelopes of others from outside, and which of the keys that somebody names has signed them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "signing/dsse/dsse.h"
#include "signing/model/model_key.h"

namespace kiln::signing {

inline constexpr std::size_t kMaxForeignBytes = 12u << 20;

// A signature that holds over an in-toto statement. What it says is not yet read.
struct SignedEnvelope {
  Envelope envelope;
  std::string keyId, pem;  // of the key that signed
};

enum class EnvelopeForm {
  kBundle,        // a Sigstore bundle v0.3 with a public key's hint
  kBundleOrBare,  // that, or the envelope by itself
};

// kInvalidArgument where the text is malformed; kDataLoss if none of `keys` made the signature, of which
// there must be one; kUnimplemented for signatures by certificate. A hint says which key to try and is not
// read: those to try are named by whoever checks.
Result<SignedEnvelope> openSignedEnvelope(std::string_view text, std::span<const ModelKey> keys,
                                          EnvelopeForm form);

}  // namespace kiln::signing
