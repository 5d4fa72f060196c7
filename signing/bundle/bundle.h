// Sigstore bundles, version 0.3, with a public key: a DSSE envelope of one signature, the id of the key that
// made it and the proof that a log holds it. Source: sigstore/protobuf-specs, sigstore_bundle.proto.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "signing/bundle/log_entry.h"
#include "signing/dsse/dsse.h"

namespace kiln::signing {

inline constexpr char kBundleMediaType[] = "application/vnd.dev.sigstore.bundle.v0.3+json";

struct Bundle {
  std::string keyId;  // the hint; says which key to try, proves nothing
  Envelope envelope;  // an in-toto statement with exactly one signature
  std::optional<LogEntry> logEntry;
};

// Canonical JSON. kInvalidArgument unless the envelope has one signature, made by `key`. `entry`: nothing of
// it is checked.
Result<std::string> makeBundle(const Envelope& envelope, const PublicKey& key,
                               const std::optional<LogEntry>& entry = std::nullopt);

// Reads a bundle from outside. kInvalidArgument naming the member. At most one log entry; timestamps are
// refused, because they cannot be checked here and what is not checked must not look as if it were. The log
// entry proves nothing before signing/log/log_proof.h.
Result<Bundle> parseBundle(std::string_view text);

}  // namespace kiln::signing
