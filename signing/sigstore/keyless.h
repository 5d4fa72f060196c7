// Signers without keys of their own: a certificate of minutes for whoever an OpenID issuer says it is, and
// proofs of when it was used. Everything is checked offline against roots that whoever checks names. Source:
// sigstore/protobuf-specs, sigstore_bundle.proto version 0.3; sigstore, client specification.
#pragma once

#include <string>
#include <vector>

#include "manifest/json/json.h"
#include "signing/dsse/dsse.h"
#include "signing/sigstore/trusted_root.h"

namespace kiln::signing {

struct KeylessRule {
  std::vector<TrustedRoot> roots;
  std::vector<std::string> identities;  // of which the certificate must name one (X509Certificate::names)
  std::vector<std::string> issuers;     // of which one must have said who that is
};

struct KeylessSigner {
  std::string identity, issuer;
  std::vector<X509Certificate> chain;  // from the signer's up to the root
  TimePoint at;                        // a time at which the signature was there, proven
};

// Whether `material` of a bundle shows that `leaf` signed `envelope`, which has one signature, while it was
// valid; the signature itself is not checked. All of it must hold under one root: a time that its timestamp
// authority or its log signed, and at each such time the chain; an entry in its log about this envelope,
// if it names logs; a timestamp in the certificate by its log of certificates, if it names those. kDataLoss
// otherwise; kInvalidArgument for malformed material; kUnimplemented as checkRekorBody().
Result<KeylessSigner> checkKeyless(const Json& material, const X509Certificate& leaf,
                                   const Envelope& envelope, const KeylessRule& rule);

}  // namespace kiln::signing
