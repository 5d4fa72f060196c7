// An ECDSA P-256 key that never leaves its PKCS#11 token: the token signs (CKM_ECDSA) what was hashed here.
#pragma once

#include "signing/keys/keys.h"
#include "signing/token/token_uri.h"

namespace kiln::signing {

// The private key that the URI means, and its public half, which the token must hold under the same id.
// kNotFound if either is missing, kInvalidArgument if several match or it is not on P-256; errors of
// TokenModule::load and TokenSession::open. Errors name token, slot and key.
// The key outlives what happens to its session: a token that was away is asked once more, whose key must be
// the same. Signing fails with kUnavailable while it is away, and while it does not take the PIN: it is then
// not asked again before the PIN's file changes, for tokens lock themselves after a few wrong ones.
Result<PrivateKey> loadTokenKey(const TokenUri& uri);

// A new pair in the token, under the URI's label (which it must give) and id; the private half can be neither
// read nor exported. kAlreadyExists if the token has a private key of that name.
Result<PrivateKey> createTokenKey(const TokenUri& uri);

}  // namespace kiln::signing
