#include "signing/keys/certificate.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>

#include "manifest/base/printable.h"
#include "signing/keys/openssl.h"

namespace kiln::signing {

struct CertificateHandle {
  explicit CertificateHandle(X509* taken) : x509(taken) {}
  CertificateHandle(const CertificateHandle&) = delete;
  CertificateHandle& operator=(const CertificateHandle&) = delete;
  ~CertificateHandle() { X509_free(x509); }
  X509* x509;
};

namespace {

constexpr std::size_t kMaxCertificateBytes = 64 << 10;

std::string nameEntry(X509* certificate, int nid) {
  X509_NAME* name = X509_get_subject_name(certificate);
  int index = X509_NAME_get_index_by_NID(name, nid, -1);
  // A second entry of the same kind could mean someone else to another reader: neither counts.
  if (index < 0 || X509_NAME_get_index_by_NID(name, nid, index) >= 0) return "";
  unsigned char* text = nullptr;
  int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)));
  std::string out(reinterpret_cast<char*>(text), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(text);
  return out;
}

TimePoint timeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return TimePoint(std::chrono::seconds(timegm(&parts)));
}

bool isName(const std::string& text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

bool addExtension(X509* certificate, int nid, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_nconf_nid(nullptr, nullptr, nid, value);
  bool ok = extension && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return ok;
}

bool setSerial(X509* certificate) {
  BIGNUM* number = BN_new();
  bool ok = BN_rand(number, 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
            BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
  BN_free(number);
  return ok;
}

bool addEntry(X509_NAME* name, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

struct Request {
  std::string commonName, organisation;
  const PublicKey& key;
  TimePoint now;
  int days;
  bool authority;
};

// Signs the certificate of `request` with `signer`; issued by itself when `issuer` is null.
Result<std::string> build(const Request& request, X509* issuer, const PrivateKey& signer) {
  CertificateHandle made(X509_new());
  X509* x = made.x509;
  constexpr long kDay = 24 * 3600;
  std::time_t start = std::chrono::floor<std::chrono::seconds>(request.now).time_since_epoch().count();
  X509_NAME* name = X509_get_subject_name(x);
  bool ok = X509_set_version(x, X509_VERSION_3) == 1 && setSerial(x) &&
            addEntry(name, "O", request.organisation) && addEntry(name, "CN", request.commonName) &&
            // An hour of grace, for clocks that are not quite one.
            ASN1_TIME_set(X509_getm_notBefore(x), start - 3600) &&
            ASN1_TIME_set(X509_getm_notAfter(x), start + request.days * kDay) &&
            X509_set_pubkey(x, request.key.handle().key) == 1 &&
            X509_set_issuer_name(x, issuer ? X509_get_subject_name(issuer) : name) == 1 &&
            addExtension(x, NID_basic_constraints,
                         request.authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
            addExtension(x, NID_key_usage,
                         request.authority ? "critical,keyCertSign" : "critical,digitalSignature") &&
            X509_sign(x, signer.handle().key, EVP_sha256()) > 0;
  clearErrors();
  if (!ok) return fail(Code::kInternal, "OpenSSL could not make the certificate of " + request.commonName);
  BioPtr bio = writer();
  PEM_write_bio_X509(bio.get(), x);
  return textOf(bio.get());
}

}  // namespace

Result<Certificate> Certificate::fromPem(std::string_view pem) {
  auto bad = [](const char* why) { return fail(Code::kInvalidArgument, std::string("certificate: ") + why); };
  if (pem.size() > kMaxCertificateBytes) return bad("too long");
  BioPtr bio = readerOf(pem);
  auto handle =
      std::make_shared<const CertificateHandle>(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  clearErrors();
  if (!handle->x509) return bad("not a PEM certificate");
  const BioPtr written = writer();
  PEM_write_bio_X509(written.get(), handle->x509);
  if (!isPem(pem, textOf(written.get())))
    return bad("not one certificate in plain PEM; openssl x509 -in FILE writes one");
  EVP_PKEY* key = X509_get_pubkey(handle->x509);
  auto keyHandle = std::make_shared<const KeyHandle>(key);
  clearErrors();
  if (!isP256(key)) return bad("its key is not ECDSA P-256");
  return Certificate(std::move(handle), PublicKey(std::move(keyHandle)));
}

std::string Certificate::pem() const {
  BioPtr bio = writer();
  PEM_write_bio_X509(bio.get(), handle_->x509);
  return textOf(bio.get());
}

std::string Certificate::commonName() const {
  return nameEntry(handle_->x509, NID_commonName);
}
std::string Certificate::organisation() const {
  return nameEntry(handle_->x509, NID_organizationName);
}
TimePoint Certificate::notBefore() const {
  return timeOf(X509_get0_notBefore(handle_->x509));
}
TimePoint Certificate::notAfter() const {
  return timeOf(X509_get0_notAfter(handle_->x509));
}

Status Certificate::checkIssuedBy(const Certificate& authority, TimePoint now) const {
  auto denied = [&](const std::string& why) {
    return fail(Code::kPermissionDenied, "certificate of " + inQuotes(commonName()) + ": " + why);
  };
  X509* self = handle_->x509;
  X509* issuer = authority.handle_->x509;
  if (X509_check_ca(issuer) != 1) return denied("the worker authority given is not a CA certificate");
  if (X509_check_ca(self) != 0) return denied("is an authority, not a worker");
  bool signedBy =
      X509_check_issued(issuer, self) == X509_V_OK && X509_verify(self, authority.key_.handle().key) == 1;
  clearErrors();
  if (!signedBy) return denied("not issued by this farm's worker authority");
  for (const Certificate* one : {this, &authority})
    if (now < one->notBefore() || now > one->notAfter())
      return denied("valid from " + rfc3339(one->notBefore()) + " to " + rfc3339(one->notAfter()) +
                    ", and it is " + rfc3339(now));
  return {};
}

Result<Authority> Authority::create(TimePoint now) {
  KILN_ASSIGN(PrivateKey key, PrivateKey::create());
  KILN_ASSIGN(std::string pem,
              build({"kiln-worker-ca", "kiln", key.publicKey(), now, 3650, true}, nullptr, key));
  KILN_ASSIGN(Certificate certificate, Certificate::fromPem(pem));
  return Authority(std::move(key), std::move(certificate));
}

Result<Certificate> Authority::issue(const std::string& worker, const std::string& operatorName,
                                     const PublicKey& key, TimePoint now) const {
  if (!isName(worker) || !isName(operatorName))
    return fail(Code::kInvalidArgument,
                "worker and operator names are 1 to 64 characters of A-Z a-z 0-9 . _ -");
  KILN_ASSIGN(std::string pem,
              build({worker, operatorName, key, now, 365, false}, certificate_.handle_->x509, key_));
  return Certificate::fromPem(pem);
}

}  // namespace kiln::signing
