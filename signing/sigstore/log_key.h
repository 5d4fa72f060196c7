// The public key of somebody's service and when it was used: of a Rekor log, or of a log of certificates.
// Source: sigstore/protobuf-specs, TransparencyLogInstance of sigstore_trustroot.proto.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "manifest/base/clock.h"
#include "signing/keys/keys.h"

namespace kiln::signing {

struct ValidFor {
  TimePoint start;
  std::optional<TimePoint> end = {};  // the last second
  bool holds(TimePoint at) const { return at >= start && (!end || at <= *end); }
};

// Thread safe.
class LogKey {
 public:
  // A SubjectPublicKeyInfo in DER with nothing behind it: Ed25519, RSA of 2048 bits or more, or a curve of
  // NIST. kInvalidArgument for anything else.
  static Result<LogKey> fromDer(std::string_view spki);

  // Whether this key made `signature`; with the hash of the curve's size, for RSA SHA-256.
  bool verifies(Bytes message, Bytes signature) const;
  // The same with SHA-256, whatever the curve: what logs of certificates sign.
  bool verifiesSha256(Bytes message, Bytes signature) const;

 private:
  LogKey() = default;

  std::shared_ptr<const KeyHandle> key_;
};

struct KnownLog {
  std::string id;             // as entries and notes name it, 32 bytes
  std::optional<LogKey> key;  // none if it is of a kind that is not served: nothing that it signed holds
  ValidFor validFor;
};

}  // namespace kiln::signing
