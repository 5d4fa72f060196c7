// Sigstore bundles, version 0.3, with a public key: a DSSE envelope of one signature and the id of the key
// that made it. Source: sigstore/protobuf-specs, sigstore_bundle.proto.
#pragma once

#include <string>
#include <string_view>

#include "signing/dsse/dsse.h"

namespace kiln::signing {

inline constexpr char kBundleMediaType[] = "application/vnd.dev.sigstore.bundle.v0.3+json";

struct Bundle {
  std::string keyId;  // the hint; says which key to try, proves nothing
  Envelope envelope;  // an in-toto statement with exactly one signature
};

// Canonical JSON. kInvalidArgument unless the envelope has one signature, made by `key`.
Result<std::string> makeBundle(const Envelope& envelope, const PublicKey& key);

// Reads a bundle from outside. kInvalidArgument naming the member; transparency-log entries and timestamps
// are refused, because this release cannot check them and what is not checked must not look as if it were.
Result<Bundle> parseBundle(std::string_view text);

}  // namespace kiln::signing
