// The location of a private key: a PEM file or a PKCS#11 token, named by a URI (token_uri.h).
#pragma once

#include "signing/keys/keys.h"

namespace kiln::signing {

// As PrivateKey::load or loadTokenKey.
Result<PrivateKey> loadKey(const std::string& where);
// A new key there. kAlreadyExists rather than overwrite.
Result<PrivateKey> createKey(const std::string& where);

}  // namespace kiln::signing
