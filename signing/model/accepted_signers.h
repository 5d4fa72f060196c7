// Whose signatures count, as whoever checks names them: keys, and names that a certificate authority vouches
// for. Nothing of it is read from what is checked.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "manifest/json/json.h"
#include "signing/model/model_key.h"
#include "signing/sigstore/keyless.h"
#include "signing/x509/chain.h"

namespace kiln::signing {

// Certificates of a private authority. Nothing in a signature proves when it was made, so that all of the
// chain must be valid at a time that whoever checks says.
struct CertificateRule {
  CertificateRoots roots;
  std::vector<std::string> identities;  // of which the certificate must name one (X509Certificate::names)
  TimePoint at;
};

struct AcceptedSigners {
  AcceptedSigners() = default;
  AcceptedSigners(std::vector<ModelKey> named) : keys(std::move(named)) {}

  std::vector<ModelKey> keys;
  std::optional<CertificateRule> certificates;  // one of these two, or neither
  std::optional<KeylessRule> keyless;
};

// Who made a signature that holds.
struct Signer {
  std::string keyId, pem;  // of the key, which a certificate's is too
  std::string identity;    // that the certificate names, and that was asked for; "" for a key by itself
  std::vector<X509Certificate> chain;  // from that certificate up to the root; empty for a key by itself
  // Of a keyless signature: the OpenID issuer, a proven time, and what a bundle brings to prove it all.
  std::string issuer;
  std::optional<TimePoint> at;
  Json material;

  // "key BASE64", or the identity and who vouches for it; for people.
  std::string text() const;
  // {"key"} or {"identity", "root", "key"}, where the root is "sha256:<hex>" of its certificate; keyless with
  // {"issuer", "time"} as well.
  Json toJson() const;
};

}  // namespace kiln::signing
