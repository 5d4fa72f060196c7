#include "coordinator/access/peer_certificate.h"

#include <openssl/pem.h>

#include "signing/keys/openssl.h"

namespace kiln::access {
namespace {

struct X509Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using X509Ptr = std::unique_ptr<X509, X509Free>;

Result<X509Ptr> readCertificate(std::string_view pem) {
  const signing::BioPtr bio = signing::readerOf(pem);
  X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  signing::clearErrors();
  if (!certificate) return fail(Code::kUnauthenticated, "the TLS certificate cannot be read");
  return certificate;
}

std::string textOf(const X509_NAME* name) {
  const signing::BioPtr bio = signing::writer();
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  return signing::textOf(bio.get());
}

std::string subjectOf(X509* certificate) {
  return textOf(X509_get_subject_name(certificate));
}

std::string keyOf(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  std::string out;
  if (size > 0) out = digestOf(Bytes(der, static_cast<std::size_t>(size))).text();
  OPENSSL_free(der);
  return out;
}

bool isValid(X509* certificate, TimePoint now) {
  auto seconds =
      static_cast<std::time_t>(std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  return X509_cmp_time(X509_get0_notBefore(certificate), &seconds) < 0 &&
         X509_cmp_time(X509_get0_notAfter(certificate), &seconds) > 0;
}

}  // namespace

Result<Identity> identifyCertificate(std::string_view pem, const signing::Certificate& workerAuthority,
                                     TimePoint now) {
  KILN_ASSIGN(const X509Ptr certificate, readCertificate(pem));
  if (!isValid(certificate.get(), now))
    return fail(Code::kUnauthenticated, "the TLS certificate of " + subjectOf(certificate.get()) +
                                            " is not valid at " + rfc3339(now));
  // Only P-256 keys can be a worker's.
  if (const auto worker = signing::Certificate::fromPem(pem);
      worker && worker->checkIssuedBy(workerAuthority, now))
    return WorkerHolder{worker->commonName(), worker->organisation(), keyOf(certificate.get())};
  const bool theirs = X509_verify(certificate.get(), workerAuthority.publicKey().handle().key) == 1;
  signing::clearErrors();
  if (theirs)
    return fail(Code::kUnauthenticated, "the worker authority signed the TLS certificate of " +
                                            subjectOf(certificate.get()) + ", but it is no worker's");
  return CertificateHolder{subjectOf(certificate.get()), keyOf(certificate.get())};
}

Result<CertificateId> certificateId(std::string_view pem) {
  KILN_ASSIGN(const X509Ptr certificate, readCertificate(pem));
  const signing::BioPtr serial = signing::writer();
  i2a_ASN1_INTEGER(serial.get(), X509_get0_serialNumber(certificate.get()));
  return CertificateId{textOf(X509_get_issuer_name(certificate.get())), signing::textOf(serial.get())};
}

std::string keyDigest(const signing::PublicKey& key) {
  return digestOf(key.der()).text();
}

}  // namespace kiln::access
