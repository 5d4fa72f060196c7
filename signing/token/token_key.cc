#include "signing/token/token_key.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <optional>

#include "manifest/base/mutex.h"
#include "signing/token/session.h"

namespace kiln::signing {
namespace {

// DER: OBJECT IDENTIFIER prime256v1; a SubjectPublicKeyInfo up to the point; OCTET STRING of 65 bytes.
constexpr std::string_view kP256("\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 10);
constexpr std::string_view kSpkiHead(
    "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42"
    "\x00",
    26);
constexpr std::string_view kPointHead("\x04\x41", 2);
constexpr std::size_t kPointBytes = 65, kCoordinateBytes = 32;

CK_ATTRIBUTE attribute(CK_ATTRIBUTE_TYPE type, std::string_view bytes) {
  return {type, const_cast<char*>(bytes.data()), bytes.size()};
}
template <class T>
  requires std::is_arithmetic_v<T>
CK_ATTRIBUTE attribute(CK_ATTRIBUTE_TYPE type, const T& value) {
  return {type, const_cast<T*>(&value), sizeof value};
}

constexpr CK_OBJECT_CLASS kPrivate = CKO_PRIVATE_KEY, kPublic = CKO_PUBLIC_KEY;
constexpr CK_KEY_TYPE kEc = CKK_EC;
constexpr CK_BBOOL kYes = CK_TRUE, kNo = CK_FALSE;

Result<std::vector<CK_OBJECT_HANDLE>> findPrivate(const TokenSession& session, const TokenUri& uri) {
  std::vector<CK_ATTRIBUTE> wanted{attribute(CKA_CLASS, kPrivate), attribute(CKA_KEY_TYPE, kEc)};
  if (!uri.label().empty()) wanted.push_back(attribute(CKA_LABEL, uri.label()));
  if (!uri.id().empty()) wanted.push_back(attribute(CKA_ID, uri.id()));
  return session.find(std::move(wanted));
}

Result<PublicKey> publicHalf(const TokenSession& session, const TokenUri& uri, CK_OBJECT_HANDLE key) {
  const std::string place = session.token() + ": " + uri.key();
  KILN_ASSIGN(const std::optional<std::string> id, session.read(key, CKA_ID));
  if (!id || id->empty())
    return fail(Code::kNotFound, place + ": has no id, by which its public key is found");
  KILN_ASSIGN(const auto found, session.find({attribute(CKA_CLASS, kPublic), attribute(CKA_KEY_TYPE, kEc),
                                              attribute(CKA_ID, *id)}));
  if (found.size() != 1)
    return fail(Code::kNotFound,
                place + ": the token must hold its public key, with the same id and no other");
  KILN_ASSIGN(const auto curve, session.read(found[0], CKA_EC_PARAMS));
  KILN_ASSIGN(const auto point, session.read(found[0], CKA_EC_POINT));
  if (curve != kP256 || !point || point->size() != kPointHead.size() + kPointBytes ||
      !point->starts_with(kPointHead))
    return fail(Code::kInvalidArgument, place + ": not an ECDSA P-256 key");
  auto read = PublicKey::fromDer(std::string(kSpkiHead) + point->substr(kPointHead.size()));
  if (!read) return fail(read.error().in(place));
  return read;
}

// A session and the key in it.
struct OpenKey {
  TokenSession session;
  CK_OBJECT_HANDLE handle;
  PublicKey publicKey;
};

Result<OpenKey> openKey(const TokenUri& uri) {
  KILN_ASSIGN(auto module, TokenModule::load(uri.modulePath()));
  KILN_ASSIGN(TokenSession session, TokenSession::open(std::move(module), uri));
  KILN_ASSIGN(const auto found, findPrivate(session, uri));
  const std::string place = session.token() + ": " + uri.key();
  if (found.empty()) return fail(Code::kNotFound, place + ": the token has no such private EC key");
  if (found.size() > 1)
    return fail(Code::kInvalidArgument, place + ": several private keys match; add id= or object=");
  KILN_ASSIGN(PublicKey publicKey, publicHalf(session, uri, found[0]));
  return OpenKey{std::move(session), found[0], std::move(publicKey)};
}

// PKCS#11's signature, both numbers in full length, as DER.
Result<std::string> toDer(std::string_view raw) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(raw.data());
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(ECDSA_SIG_new(), ECDSA_SIG_free);
  BIGNUM* r = BN_bin2bn(bytes, kCoordinateBytes, nullptr);
  BIGNUM* s = BN_bin2bn(bytes + kCoordinateBytes, kCoordinateBytes, nullptr);
  unsigned char* der = nullptr;
  int size = -1;
  if (ECDSA_SIG_set0(pair.get(), r, s) == 1) size = i2d_ECDSA_SIG(pair.get(), &der);
  if (size < 0) return fail(Code::kInternal, "OpenSSL could not encode a signature");
  std::string out(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

// Differs once the file was written again, replaced or only touched; "" if it is not there.
std::string stateOf(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return "";
  return fmt::format("{} {}.{} {}.{}", file.st_ino, file.st_mtim.tv_sec, file.st_mtim.tv_nsec,
                     file.st_ctim.tv_sec, file.st_ctim.tv_nsec);
}

class TokenKey final : public KeyDevice {
 public:
  TokenKey(TokenUri uri, OpenKey key)
      : uri_(std::move(uri)), publicKey_(key.publicKey), open_(std::move(key)) {}

  Result<std::string> sign(Bytes message) const override {
    const MutexLock lock(mutex_);
    if (open_) {
      auto signature = signOnce(message);
      if (signature || signature.error().code != Code::kUnavailable) return signature;
    }
    // The token was away, or somebody ended our session: it may be back.
    open_.reset();
    std::string pinFile = stateOf(uri_.pinFile());
    if (refused_ && refused_->pinFile == pinFile) return fail(refused_->error);
    refused_.reset();
    auto again = openKey(uri_);
    if (!again) {
      Error away{Code::kUnavailable, again.error().message, ""};
      if (again.error().code == Code::kPermissionDenied) {
        away.message += "; it is not tried again before that file changes";
        refused_ = Refused{std::move(pinFile), away};
      }
      return fail(std::move(away));
    }
    if (again->publicKey.id() != publicKey_.id())
      return fail(Code::kUnavailable,
                  again->session.token() + ": " + uri_.key() + ": is another key than before");
    open_.emplace(std::move(*again));
    return signOnce(message);
  }

 private:
  // Tokens count wrong PINs and lock themselves after a few, and a signature may be asked for each second.
  struct Refused {
    std::string pinFile;  // the file's state
    Error error;
  };

  // With open_.
  Result<std::string> signOnce(Bytes message) const KILN_REQUIRES(mutex_) {
    const TokenSession& session = open_->session;
    CK_MECHANISM mechanism{CKM_ECDSA, nullptr, 0};
    CK_RV answer = session->C_SignInit(session.handle(), &mechanism, open_->handle);
    if (answer != CKR_OK) return fail(session.error(answer, uri_.key() + ": cannot sign"));
    auto hash = digestOf(message).hash;
    std::string raw(2 * kCoordinateBytes, '\0');
    CK_ULONG size = raw.size();
    answer = session->C_Sign(session.handle(), hash.data(), hash.size(),
                             reinterpret_cast<CK_BYTE_PTR>(raw.data()), &size);
    if (answer != CKR_OK) return fail(session.error(answer, uri_.key() + ": cannot sign"));
    if (size != raw.size()) return fail(Code::kInternal, session.token() + ": made no P-256 signature");
    KILN_ASSIGN(std::string der, toDer(raw));
    // What leaves this process under the key's name must be the key's.
    if (auto good = publicKey_.verify(message, asBytes(der)); !good)
      return fail(good.error().in(session.token() + ": " + uri_.key()));
    return der;
  }

  const TokenUri uri_;
  const PublicKey publicKey_;
  mutable Mutex mutex_;
  // Empty while the token is away.
  mutable std::optional<OpenKey> open_ KILN_GUARDED_BY(mutex_);
  mutable std::optional<Refused> refused_ KILN_GUARDED_BY(mutex_);
};

}  // namespace

Result<PrivateKey> loadTokenKey(const TokenUri& uri) {
  KILN_ASSIGN(OpenKey key, openKey(uri));
  const PublicKey publicKey = key.publicKey;
  return PrivateKey(publicKey, std::make_shared<const TokenKey>(uri, std::move(key)));
}

Result<PrivateKey> createTokenKey(const TokenUri& uri) {
  if (uri.label().empty())
    return fail(Code::kInvalidArgument, "PKCS#11 URI: a new key needs a label, object=LABEL");
  {
    KILN_ASSIGN(auto module, TokenModule::load(uri.modulePath()));
    KILN_ASSIGN(const TokenSession session, TokenSession::open(std::move(module), uri, true));
    const std::string place = session.token() + ": " + uri.key();
    KILN_ASSIGN(const auto there, findPrivate(session, uri));
    if (!there.empty()) return fail(Code::kAlreadyExists, place + ": is there already");
    // Pairs are told apart by their id.
    std::string id = uri.id();
    if (id.empty()) {
      id.resize(16);
      if (RAND_bytes(reinterpret_cast<unsigned char*>(id.data()), static_cast<int>(id.size())) != 1)
        return fail(Code::kInternal, "OpenSSL gave no random bytes");
    }
    CK_ATTRIBUTE forPublic[] = {attribute(CKA_TOKEN, kYes), attribute(CKA_VERIFY, kYes),
                                attribute(CKA_EC_PARAMS, kP256), attribute(CKA_LABEL, uri.label()),
                                attribute(CKA_ID, id)};
    CK_ATTRIBUTE forPrivate[] = {attribute(CKA_TOKEN, kYes),     attribute(CKA_PRIVATE, kYes),
                                 attribute(CKA_SENSITIVE, kYes), attribute(CKA_EXTRACTABLE, kNo),
                                 attribute(CKA_SIGN, kYes),      attribute(CKA_LABEL, uri.label()),
                                 attribute(CKA_ID, id)};
    CK_MECHANISM mechanism{CKM_EC_KEY_PAIR_GEN, nullptr, 0};
    CK_OBJECT_HANDLE made[2];
    const CK_RV answer =
        session->C_GenerateKeyPair(session.handle(), &mechanism, forPublic, std::size(forPublic), forPrivate,
                                   std::size(forPrivate), &made[0], &made[1]);
    if (answer != CKR_OK) return fail(session.error(answer, uri.key() + ": cannot be made"));
  }
  return loadTokenKey(uri);
}

}  // namespace kiln::signing
