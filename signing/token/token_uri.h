// PKCS#11 URIs (RFC 7512), as Kiln takes them:
//   pkcs11:token=farm;object=signer?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=/etc/kiln/pin
// The token by any of token, serial, model, manufacturer, slot-id; the key by object (its label), id, or
// both.
#pragma once

#include <p11-kit/uri.h>

#include <memory>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::signing {

// Immutable once parsed; copies share.
class TokenUri {
 public:
  static bool is(std::string_view text) { return text.starts_with("pkcs11:"); }
  // kInvalidArgument: malformed, an attribute that nobody knows, no module-path, no pin-source or one that is
  // not a path, no key. A pin-value is refused: other users see command lines.
  static Result<TokenUri> parse(const std::string& text);

  const std::string& modulePath() const { return modulePath_; }
  const std::string& pinFile() const { return pinFile_; }
  const std::string& label() const { return label_; }  // "" if the key is named by its id alone
  const std::string& id() const { return id_; }        // CKA_ID, likewise
  std::string key() const;                             // for messages: key "label" with id 0a0b

  bool matchesToken(const CK_TOKEN_INFO& info, CK_SLOT_ID slot) const;

 private:
  TokenUri() : uri_(p11_kit_uri_new(), p11_kit_uri_free) {}

  std::shared_ptr<P11KitUri> uri_;
  std::string modulePath_, pinFile_, label_, id_;
};

}  // namespace kiln::signing
