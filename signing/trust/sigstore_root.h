// A trust root's logs as stock verifiers of Sigstore bundles read them. Source: sigstore/protobuf-specs,
// sigstore_trustroot.proto in its JSON form.
#pragma once

#include "signing/trust/trust_root.h"

namespace kiln::signing {

// A "trusted_root.json": cosign's --trusted-root, TrustedRoot of @sigstore/protobuf-specs. It names the logs
// and nothing else: such verifiers get the artifact key apart, as PEM, and know neither builders, witnesses,
// revocations nor recalls. kInvalidArgument naming a log whose key is not Ed25519 or whose origin is not the
// host name that those verifiers compare it with.
Result<Json> sigstoreTrustedRoot(const TrustRoot& root);

}  // namespace kiln::signing
