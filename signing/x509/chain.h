// Whether an authority that somebody names vouches for whoever signed: chains of X.509 certificates for the
// signing of code. OpenSSL builds and checks them (X509_verify_cert). Source: RFC 5280, sections 4.2.1 and 6.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "signing/x509/certificate.h"

namespace kiln::signing {

// Lists of certificates that their authorities have taken back. Source: RFC 5280, section 5.
using RevocationLists = std::vector<std::shared_ptr<X509_CRL>>;

// A PEM file of 1 to 16 blocks "X509 CRL", at most 16 MiB, as readTrustFile() takes it. kInvalidArgument
// names the path.
Result<RevocationLists> loadRevocationLists(const std::string& path);

// Thread safe.
struct CertificateRoots {
  std::vector<X509Certificate> anchors;        // authorities by their own signature: they are believed
  std::vector<X509Certificate> intermediates;  // help to build a chain, and are believed for nothing else
  // Where there is one, every authority of a chain must have one here that is valid at the time in question
  // and that names no certificate of the chain. None: nobody is asked what was taken back.
  RevocationLists revocations = {};

  // kInvalidArgument unless all are authorities and one of them is an anchor: a leaf vouches for nobody, not
  // even for itself.
  static Result<CertificateRoots> of(std::vector<X509Certificate> certificates);
  static Result<CertificateRoots> fromPem(std::string_view pem);
  // A file as readTrustFile() takes it. Errors name the path.
  static Result<CertificateRoots> load(const std::string& path);
};

// Whether the certificate is one that signs code and nothing above it: no authority's, with key usage
// digitalSignature and extended key usage codeSigning, both stated. kDataLoss otherwise.
Status checkCodeSigner(const X509Certificate& certificate);

// The chain from chain[0], who signed, up to an anchor of `roots`; the others of `chain` may help to build it
// and prove nothing. kDataLoss unless every certificate in it is valid at `at`, above the first there are
// authorities alone, at most 4 between it and the anchor, the first is as checkCodeSigner() wants it, and no
// authority is meant for other uses; and as `roots.revocations` wants it.
Result<std::vector<X509Certificate>> checkChain(std::span<const X509Certificate> chain,
                                                const CertificateRoots& roots, TimePoint at);

}  // namespace kiln::signing
