// X.509 certificates from outside, as bundles and files of roots hold them, and what their names say.
// OpenSSL 3 reads them. Those of the farm's own workers are signing/keys/certificate.h. Source: RFC 5280.
#pragma once

#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/result.h"

namespace kiln::signing {

inline constexpr std::size_t kMaxCertificates = 16;  // of one file, and of one chain

// Thread safe.
class X509Certificate {
 public:
  // One certificate in DER with nothing behind it, at most 64 KiB. kInvalidArgument otherwise, and for one
  // that has an extension twice, which two readers could take differently, or one that OpenSSL cannot read.
  static Result<X509Certificate> fromDer(std::string_view der);

  std::string der() const;
  // Its public key, one PEM block "PUBLIC KEY".
  std::string keyPem() const;
  // "C=DE, O=Example, CN=release"; for people.
  std::string subject() const;
  TimePoint notBefore() const;
  TimePoint notAfter() const;
  // A certificate authority by its basic constraints.
  bool isAuthority() const;
  // Signed by its own key.
  bool isSelfSigned() const;

  // Whether `identity` is one of its subject alternative names, byte by byte: a URI if it has "://", an
  // e-mail address if it has "@", the name of a user, as Fulcio writes it in an otherName
  // (1.3.6.1.4.1.57264.1.7, "NAME!DOMAIN"), if it has "!", a DNS name otherwise. Its common name is none.
  bool names(std::string_view identity) const;
  // Those names of these four kinds, for messages; at most 8.
  std::vector<std::string> alternativeNames() const;
  // The OpenID issuer that a Fulcio certificate states (1.3.6.1.4.1.57264.1.8, or .1.1 where that is
  // missing); "" if it states none. Source: fulcio, docs/oid-info.md.
  std::string oidcIssuer() const;

  // OpenSSL's object, for the files of this folder and those that check what it signed; not to be changed.
  X509* handle() const { return x509_.get(); }

 private:
  explicit X509Certificate(std::shared_ptr<X509> x509) : x509_(std::move(x509)) {}

  std::shared_ptr<X509> x509_;
};

// The certificates of a PEM file: 1 to kMaxCertificates blocks "CERTIFICATE" with nothing between them.
Result<std::vector<X509Certificate>> certificatesFromPem(std::string_view pem);

}  // namespace kiln::signing
