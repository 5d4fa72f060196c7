#include "signing/token/key_location.h"

#include "signing/token/token_key.h"

namespace kiln::signing {

Result<PrivateKey> loadKey(const std::string& where) {
  if (!TokenUri::is(where)) return PrivateKey::load(where);
  KILN_ASSIGN(const TokenUri uri, TokenUri::parse(where));
  return loadTokenKey(uri);
}

Result<PrivateKey> createKey(const std::string& where) {
  if (TokenUri::is(where)) {
    KILN_ASSIGN(const TokenUri uri, TokenUri::parse(where));
    return createTokenKey(uri);
  }
  KILN_ASSIGN(PrivateKey key, PrivateKey::create());
  KILN_TRY(key.save(where));
  return key;
}

}  // namespace kiln::signing
