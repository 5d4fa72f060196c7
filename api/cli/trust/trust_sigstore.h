// A trust root in the files that stock verifiers of Sigstore bundles take.
#pragma once

#include <string>

#include "signing/trust/trust_root.h"

namespace kiln::cli {

// Makes `directory` if it is not there, and in it trusted_root.json, which names the logs, and a PEM file per
// signer key. Says where: {"trustedRoot": path, "keys": [{"keyid", "file"}]}. Nothing is overwritten:
// kAlreadyExists.
Result<Json> writeSigstoreFiles(const signing::TrustRoot& root, const std::string& directory);

}  // namespace kiln::cli
