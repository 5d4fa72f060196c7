// Public keys of any kind that Kiln uses, as files hold them.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::signing {

// The SubjectPublicKeyInfo, in DER, of the public key at `path`, or of the private one there (which must be a
// file as PrivateKey::load wants it). kInvalidArgument for anything but PEM of a P-256 or Ed25519 key. Errors
// name the path.
Result<std::string> readPublicKeyFile(const std::string& path);

}  // namespace kiln::signing
