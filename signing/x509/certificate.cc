#include "signing/x509/certificate.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <optional>
#include <set>

#include "signing/keys/openssl.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxCertificateBytes = 64 << 10;
constexpr int kMaxExtensions = 64;
constexpr std::size_t kMaxNamesShown = 8;
constexpr char kUserName[] = "1.3.6.1.4.1.57264.1.7";  // fulcio, docs/oid-info.md

TimePoint timeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return TimePoint(std::chrono::seconds(timegm(&parts)));
}

std::string_view bytesOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string objectName(const ASN1_OBJECT* object) {
  char text[128];
  const int size = OBJ_obj2txt(text, sizeof text, object, 1);
  return size > 0 && size < static_cast<int>(sizeof text) ? std::string(text) : std::string();
}

// Each extension once.
Status checkExtensions(X509* x509) {
  const int count = X509_get_ext_count(x509);
  if (count > kMaxExtensions) return fail(Code::kInvalidArgument, "certificate: has more than 64 extensions");
  std::set<std::string> seen;
  for (int i = 0; i < count; ++i) {
    const ASN1_OBJECT* object = X509_EXTENSION_get_object(X509_get_ext(x509, i));
    std::string id(reinterpret_cast<const char*>(OBJ_get0_data(object)), OBJ_length(object));
    if (!seen.insert(std::move(id)).second)
      return fail(Code::kInvalidArgument, "certificate: has the extension " + objectName(object) + " twice");
  }
  return {};
}

struct NamesFree {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

// The text of an otherName as Fulcio gives it to users; nothing for others.
std::optional<std::string_view> userName(const OTHERNAME* name) {
  if (objectName(name->type_id) != kUserName || name->value->type != V_ASN1_UTF8STRING) return std::nullopt;
  return bytesOf(name->value->value.utf8string);
}

// Calls `take(type, text)` for each alternative name that is text.
void forEachName(X509* x509, auto take) {
  const std::unique_ptr<GENERAL_NAMES, NamesFree> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(x509, NID_subject_alt_name, nullptr, nullptr)));
  clearErrors();
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type);
    if (type == GEN_URI || type == GEN_EMAIL || type == GEN_DNS)
      take(type, bytesOf(static_cast<const ASN1_STRING*>(value)));
    if (type == GEN_OTHERNAME)
      if (const auto user = userName(static_cast<const OTHERNAME*>(value))) take(type, *user);
  }
}

// Names of one kind must not pass for those of another: authorities are constrained by kind.
int kindOf(std::string_view identity) {
  if (identity.find("://") != identity.npos) return GEN_URI;
  if (identity.find('@') != identity.npos) return GEN_EMAIL;
  return identity.find('!') != identity.npos ? GEN_OTHERNAME : GEN_DNS;
}

// The value of the extension with this id; none if it is missing.
const ASN1_OCTET_STRING* extension(X509* x509, const char* id) {
  const std::unique_ptr<ASN1_OBJECT, decltype(&ASN1_OBJECT_free)> object(OBJ_txt2obj(id, 1),
                                                                         ASN1_OBJECT_free);
  const int at = X509_get_ext_by_OBJ(x509, object.get(), -1);
  return at < 0 ? nullptr : X509_EXTENSION_get_data(X509_get_ext(x509, at));
}

}  // namespace

Result<X509Certificate> X509Certificate::fromDer(std::string_view der) {
  const auto bad = [](const char* why) {
    return fail(Code::kInvalidArgument, std::string("certificate: ") + why);
  };
  if (der.empty() || der.size() > kMaxCertificateBytes) return bad("must have 1 to 65536 bytes");
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const auto* end = at + der.size();
  std::shared_ptr<X509> x509(d2i_X509(nullptr, &at, static_cast<long>(der.size())), X509_free);
  clearErrors();
  if (!x509 || at != end) return bad("is not one X.509 certificate in DER");
  KILN_TRY(checkExtensions(x509.get()));
  X509Certificate out(std::move(x509));
  if (out.der() != der) return bad("is not in its one DER form");
  const std::uint32_t flags = X509_get_extension_flags(out.handle());
  clearErrors();
  if ((flags & EXFLAG_INVALID) != 0) return bad("has an extension that cannot be read");
  return out;
}

std::string X509Certificate::der() const {
  unsigned char* data = nullptr;
  const int size = i2d_X509(handle(), &data);
  std::string out(reinterpret_cast<char*>(data), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(data);
  clearErrors();
  return out;
}

std::string X509Certificate::keyPem() const {
  const BioPtr bio = writer();
  if (EVP_PKEY* key = X509_get0_pubkey(handle())) PEM_write_bio_PUBKEY(bio.get(), key);
  clearErrors();
  return textOf(bio.get());
}

std::string X509Certificate::subject() const {
  const BioPtr bio = writer();
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(handle()), 0, XN_FLAG_ONELINE & ~XN_FLAG_SPC_EQ);
  clearErrors();
  return textOf(bio.get());
}

TimePoint X509Certificate::notBefore() const {
  return timeOf(X509_get0_notBefore(handle()));
}
TimePoint X509Certificate::notAfter() const {
  return timeOf(X509_get0_notAfter(handle()));
}

bool X509Certificate::isAuthority() const {
  return X509_check_ca(handle()) == 1;
}

bool X509Certificate::isSelfSigned() const {
  const bool self = X509_self_signed(handle(), 1) == 1;
  clearErrors();
  return self;
}

bool X509Certificate::names(std::string_view identity) const {
  bool found = false;
  forEachName(handle(), [&](int type, std::string_view text) {
    found = found || (type == kindOf(identity) && text == identity);
  });
  return found && !identity.empty();
}

std::vector<std::string> X509Certificate::alternativeNames() const {
  std::vector<std::string> out;
  forEachName(handle(), [&](int, std::string_view text) {
    if (out.size() < kMaxNamesShown) out.emplace_back(text);
  });
  return out;
}

std::string X509Certificate::oidcIssuer() const {
  if (const ASN1_OCTET_STRING* value = extension(handle(), "1.3.6.1.4.1.57264.1.8")) {
    // A UTF8String in DER.
    const auto* at = ASN1_STRING_get0_data(value);
    const auto* end = at + ASN1_STRING_length(value);
    const std::unique_ptr<ASN1_UTF8STRING, decltype(&ASN1_UTF8STRING_free)> text(
        d2i_ASN1_UTF8STRING(nullptr, &at, ASN1_STRING_length(value)), ASN1_UTF8STRING_free);
    clearErrors();
    return text && at == end ? std::string(bytesOf(text.get())) : std::string();
  }
  // The older one holds the bytes of the text.
  const ASN1_OCTET_STRING* old = extension(handle(), "1.3.6.1.4.1.57264.1.1");
  return old ? std::string(bytesOf(old)) : std::string();
}

Result<std::vector<X509Certificate>> certificatesFromPem(std::string_view pem) {
  const auto bad = [] {
    return fail(Code::kInvalidArgument,
                "not 1 to 16 certificates in plain PEM, with nothing around them; openssl x509 -in FILE "
                "writes one");
  };
  if (pem.size() > kMaxCertificates * 2 * kMaxCertificateBytes) return bad();
  std::vector<X509Certificate> out;
  std::string written;
  const BioPtr bio = readerOf(pem);
  while (out.size() < kMaxCertificates) {
    const std::unique_ptr<X509, decltype(&X509_free)> one(
        PEM_read_bio_X509(bio.get(), nullptr, [](char*, int, int, void*) { return -1; }, nullptr), X509_free);
    clearErrors();
    if (!one) break;
    const BioPtr again = writer();
    PEM_write_bio_X509(again.get(), one.get());
    written += textOf(again.get());
    unsigned char* data = nullptr;
    const int size = i2d_X509(one.get(), &data);
    const std::string der(reinterpret_cast<char*>(data), size > 0 ? static_cast<std::size_t>(size) : 0);
    OPENSSL_free(data);
    KILN_ASSIGN(X509Certificate certificate, X509Certificate::fromDer(der));
    out.push_back(std::move(certificate));
  }
  if (out.empty() || !isPem(pem, written)) return bad();
  return out;
}

}  // namespace kiln::signing
