#include "signing/token/token_uri.h"

#include <fmt/format.h>

#include "manifest/base/printable.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxUriBytes = 4096;

tl::unexpected<Error> bad(const std::string& why) {
  return fail(Code::kInvalidArgument, "PKCS#11 URI: " + why);
}

std::string attribute(P11KitUri* uri, CK_ATTRIBUTE_TYPE type) {
  const CK_ATTRIBUTE* found = p11_kit_uri_get_attribute(uri, type);
  return found ? std::string(static_cast<const char*>(found->pValue), found->ulValueLen) : "";
}

}  // namespace

Result<TokenUri> TokenUri::parse(const std::string& text) {
  if (text.size() > kMaxUriBytes) return bad("longer than 4096 bytes");
  if (text.find('\0') != text.npos) return bad("holds a null character");
  TokenUri out;
  P11KitUri* uri = out.uri_.get();
  if (const int code = p11_kit_uri_parse(text.c_str(), P11_KIT_URI_FOR_ANY, uri); code != P11_KIT_URI_OK)
    return bad(std::string(p11_kit_uri_message(code)) + "; see RFC 7512");
  if (p11_kit_uri_any_unrecognized(uri)) return bad("has an attribute that is not known here");
  if (p11_kit_uri_get_pin_value(uri))
    return bad(
        "pin-value can be seen by others; put the PIN into a file of mode 0600 and name it by pin-source");
  const char* module = p11_kit_uri_get_module_path(uri);
  if (!module || *module != '/') return bad("give module-path=/path/of/the/token's/module.so");
  out.modulePath_ = module;
  const char* source = p11_kit_uri_get_pin_source(uri);
  out.pinFile_ = source ? source : "";
  if (out.pinFile_.starts_with("file:")) out.pinFile_.erase(0, 5);
  if (!out.pinFile_.starts_with('/')) return bad("give pin-source=/path/of/the/PIN, a file of mode 0600");
  out.label_ = attribute(uri, CKA_LABEL);
  out.id_ = attribute(uri, CKA_ID);
  if (out.label_.empty() && out.id_.empty()) return bad("name the key by object=LABEL or id=%01");
  const std::string type = attribute(uri, CKA_CLASS);
  if (!type.empty()) {
    const CK_OBJECT_CLASS wanted = CKO_PRIVATE_KEY;
    if (type != std::string_view(reinterpret_cast<const char*>(&wanted), sizeof wanted))
      return bad("type must be private, or left out");
  }
  return out;
}

std::string TokenUri::key() const {
  std::string out = "key";
  if (!label_.empty()) out += " " + inQuotes(label_);
  if (!id_.empty()) out += " with id ";
  for (const char byte : id_) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

bool TokenUri::matchesToken(const CK_TOKEN_INFO& info, CK_SLOT_ID slot) const {
  const CK_SLOT_ID wanted = p11_kit_uri_get_slot_id(uri_.get());
  if (wanted != static_cast<CK_SLOT_ID>(-1) && wanted != slot) return false;
  CK_TOKEN_INFO copy = info;
  return p11_kit_uri_match_token_info(uri_.get(), &copy) == 1;
}

}  // namespace kiln::signing
