// Envelopes of others from outside, and who of those that somebody names has signed them.
#pragma once

#include <string>
#include <string_view>

#include "signing/dsse/dsse.h"
#include "signing/model/accepted_signers.h"

namespace kiln::signing {

inline constexpr std::size_t kMaxForeignBytes = 12u << 20;

// A signature that holds over an in-toto statement. What it says is not yet read.
struct SignedEnvelope {
  Envelope envelope;
  Signer signer;
};

enum class EnvelopeForm {
  kBundle,        // a Sigstore bundle v0.3 with a public key's hint, or with certificates
  kBundleOrBare,  // that, or the envelope by itself
};

// kInvalidArgument where the text is malformed; kDataLoss if none of `signers` made the signature, of which
// there must be one. A bundle says which key or which certificates to try, one or the other. A hint is not
// read: the keys to try are named by whoever checks. Certificates count by a root that is named, as
// checkChain() or checkKeyless(), and by a name in them.
Result<SignedEnvelope> openSignedEnvelope(std::string_view text, const AcceptedSigners& signers,
                                          EnvelopeForm form);

}  // namespace kiln::signing
