// X.509 certificates of the farm's workers: one authority, one level. The subject's common name is the
// worker, its organisation the operator. Not for TLS: a certificate only says whose receipts a key signs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "manifest/base/clock.h"
#include "signing/keys/keys.h"

namespace kiln::signing {

struct CertificateHandle;  // owns an X509

// Thread safe.
class Certificate {
 public:
  // One PEM certificate with a P-256 key, and nothing around it.
  static Result<Certificate> fromPem(std::string_view pem);

  std::string pem() const;
  std::string commonName() const;    // "" if there is none
  std::string organisation() const;  // "" if there is none
  TimePoint notBefore() const;
  TimePoint notAfter() const;
  const PublicKey& publicKey() const { return key_; }

  // kPermissionDenied unless `authority` is a CA certificate that signed this one, this one is no CA itself,
  // and `now` lies within both validities.
  Status checkIssuedBy(const Certificate& authority, TimePoint now) const;

 private:
  friend class Authority;
  Certificate(std::shared_ptr<const CertificateHandle> handle, PublicKey key)
      : handle_(std::move(handle)), key_(std::move(key)) {}

  std::shared_ptr<const CertificateHandle> handle_;
  PublicKey key_;
};

// Signs workers' certificates.
class Authority {
 public:
  // A new key and a self-signed certificate that lasts ten years from `now`.
  static Result<Authority> create(TimePoint now);
  Authority(PrivateKey key, Certificate certificate)
      : key_(std::move(key)), certificate_(std::move(certificate)) {}

  const PrivateKey& key() const { return key_; }
  const Certificate& certificate() const { return certificate_; }

  // Names are 1 to 64 characters of A-Z a-z 0-9 . _ -; the certificate lasts one year from `now`.
  Result<Certificate> issue(const std::string& worker, const std::string& operatorName, const PublicKey& key,
                            TimePoint now) const;

 private:
  PrivateKey key_;
  Certificate certificate_;
};

}  // namespace kiln::signing
