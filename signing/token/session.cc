#include "signing/token/session.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "manifest/base/printable.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxPinBytes = 256;
constexpr CK_ULONG kMaxSlots = 256;

struct Slot {
  CK_SLOT_ID id;
  std::string token;  // for messages
};

std::string labelOf(const CK_TOKEN_INFO& info) {
  std::string label(reinterpret_cast<const char*>(info.label), sizeof info.label);
  label.erase(label.find_last_not_of(' ') + 1);
  return label;
}

Result<Slot> findSlot(const TokenModule& module, const TokenUri& uri) {
  CK_SLOT_ID slots[kMaxSlots];
  CK_ULONG count = kMaxSlots;
  if (const CK_RV answer = module->C_GetSlotList(CK_TRUE, slots, &count); answer != CKR_OK)
    return fail(tokenError(answer, module.path() + ": cannot list its tokens"));
  std::vector<Slot> matching;
  std::string present;
  for (CK_ULONG i = 0; i < count; ++i) {
    CK_TOKEN_INFO info{};
    if (module->C_GetTokenInfo(slots[i], &info) != CKR_OK || !(info.flags & CKF_TOKEN_INITIALIZED)) continue;
    const std::string name = fmt::format("token {} (slot {})", inQuotes(labelOf(info)), slots[i]);
    present += (present.empty() ? "" : ", ") + name;
    if (uri.matchesToken(info, slots[i])) matching.push_back({slots[i], name});
  }
  if (matching.empty())
    return fail(Code::kNotFound, module.path() + ": no token is the one that the PKCS#11 URI names; there " +
                                     (present.empty() ? "is none" : "is " + present));
  if (matching.size() > 1)
    return fail(Code::kInvalidArgument, module.path() +
                                            ": several tokens are what the PKCS#11 URI names; add serial= or "
                                            "slot-id=: " +
                                            present);
  return matching[0];
}

Result<std::string> readPin(const std::string& path) {
  KILN_ASSIGN(std::string pin, readSecretFile(path, kMaxPinBytes));
  if (pin.ends_with('\n')) pin.pop_back();
  if (pin.empty()) return fail(Code::kInvalidArgument, path + ": holds no PIN");
  return pin;
}

}  // namespace

Result<TokenSession> TokenSession::open(std::shared_ptr<const TokenModule> module, const TokenUri& uri,
                                        bool writing) {
  KILN_ASSIGN(Slot slot, findSlot(*module, uri));
  KILN_ASSIGN(std::string pin, readPin(uri.pinFile()));
  CK_SESSION_HANDLE handle = 0;
  const CK_FLAGS flags = CKF_SERIAL_SESSION | (writing ? CKF_RW_SESSION : 0u);
  CK_RV answer = (*module)->C_OpenSession(slot.id, flags, nullptr, nullptr, &handle);
  if (answer != CKR_OK) {
    OPENSSL_cleanse(pin.data(), pin.size());
    return fail(tokenError(answer, slot.token + ": opens no session"));
  }
  TokenSession session(std::move(module), handle, std::move(slot.token));
  answer = session->C_Login(handle, CKU_USER, reinterpret_cast<CK_UTF8CHAR_PTR>(pin.data()), pin.size());
  OPENSSL_cleanse(pin.data(), pin.size());
  // Logged in is the whole process: another key of the token may have done it.
  if (answer != CKR_OK && answer != CKR_USER_ALREADY_LOGGED_IN)
    return fail(session.error(answer, "does not take the PIN in " + uri.pinFile()));
  return session;
}

TokenSession::TokenSession(TokenSession&& other) noexcept
    : module_(std::move(other.module_)), handle_(other.handle_), token_(std::move(other.token_)) {}

TokenSession::~TokenSession() {
  if (module_) (*module_)->C_CloseSession(handle_);
}

Result<std::vector<CK_OBJECT_HANDLE>> TokenSession::find(std::vector<CK_ATTRIBUTE> attributes) const {
  const CK_FUNCTION_LIST& f = *module_->operator->();
  CK_RV answer = f.C_FindObjectsInit(handle_, attributes.data(), attributes.size());
  if (answer != CKR_OK) return fail(error(answer, "cannot be searched"));
  std::vector<CK_OBJECT_HANDLE> found(2);
  CK_ULONG count = 0;
  answer = f.C_FindObjects(handle_, found.data(), found.size(), &count);
  f.C_FindObjectsFinal(handle_);
  if (answer != CKR_OK) return fail(error(answer, "cannot be searched"));
  found.resize(count);
  return found;
}

Result<std::optional<std::string>> TokenSession::read(CK_OBJECT_HANDLE object, CK_ATTRIBUTE_TYPE type) const {
  const CK_FUNCTION_LIST& f = *module_->operator->();
  char buffer[1024];
  CK_ATTRIBUTE attribute{type, buffer, sizeof buffer};
  const CK_RV answer = f.C_GetAttributeValue(handle_, object, &attribute, 1);
  if (answer == CKR_ATTRIBUTE_TYPE_INVALID || answer == CKR_ATTRIBUTE_SENSITIVE)
    return std::optional<std::string>();
  if (answer != CKR_OK) return fail(error(answer, "cannot read an attribute"));
  return std::optional<std::string>(std::string(buffer, attribute.ulValueLen));
}

}  // namespace kiln::signing
