#include "signing/x509/chain.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>

#include "manifest/base/printable.h"
#include "signing/keys/files.h"
#include "signing/keys/openssl.h"

namespace kiln::signing {
namespace {

constexpr int kMaxIntermediates = 4;
constexpr int kSecurityLevel = 2;  // of OpenSSL: 112 bits, so no SHA-1 and no RSA below 2048 bits
constexpr std::size_t kMaxRootBytes = 1 << 20, kMaxListBytes = 16 << 20;

struct StackFree {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_free(stack); }  // borrows what it holds
};
struct OwnedStackFree {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_pop_free(stack, X509_free); }
};
struct StoreFree {
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
};
struct ContextFree {
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
};

tl::unexpected<Error> refused(const X509Certificate& certificate, const std::string& why) {
  return fail(Code::kDataLoss, "certificate of " + inQuotes(certificate.subject()) + ": " + why);
}

bool hasUse(X509* x509, std::initializer_list<int> uses) {
  const std::unique_ptr<EXTENDED_KEY_USAGE, decltype(&EXTENDED_KEY_USAGE_free)> listed(
      static_cast<EXTENDED_KEY_USAGE*>(X509_get_ext_d2i(x509, NID_ext_key_usage, nullptr, nullptr)),
      EXTENDED_KEY_USAGE_free);
  clearErrors();
  for (int i = 0; listed && i < sk_ASN1_OBJECT_num(listed.get()); ++i)
    for (const int use : uses)
      if (OBJ_obj2nid(sk_ASN1_OBJECT_value(listed.get(), i)) == use) return true;
  return false;
}

bool statesUses(X509* x509) {
  return X509_get_ext_by_NID(x509, NID_ext_key_usage, -1) >= 0;
}

Status checkAuthority(const X509Certificate& authority) {
  if (!authority.isAuthority()) return refused(authority, "is not an authority's");
  X509* x509 = authority.handle();
  if (statesUses(x509) && !hasUse(x509, {NID_code_sign, NID_anyExtendedKeyUsage}))
    return refused(authority, "is of an authority for other uses than the signing of code");
  return {};
}

bool dependsOnTime(int error) {
  return error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID ||
         error == X509_V_ERR_CRL_HAS_EXPIRED || error == X509_V_ERR_CRL_NOT_YET_VALID;
}

// What OpenSSL holds, as this folder does.
Result<std::vector<X509Certificate>> certificatesOf(STACK_OF(X509) * chain) {
  std::vector<X509Certificate> out;
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    unsigned char* data = nullptr;
    const int size = i2d_X509(sk_X509_value(chain, i), &data);
    const std::string der(reinterpret_cast<char*>(data), size > 0 ? static_cast<std::size_t>(size) : 0);
    OPENSSL_free(data);
    KILN_ASSIGN(X509Certificate one, X509Certificate::fromDer(der));
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Result<CertificateRoots> CertificateRoots::of(std::vector<X509Certificate> certificates) {
  CertificateRoots out;
  for (X509Certificate& one : certificates) {
    if (!one.isAuthority())
      return fail(Code::kInvalidArgument, "the certificate of " + inQuotes(one.subject()) +
                                              " is not an authority's; name the root that issues them");
    (one.isSelfSigned() ? out.anchors : out.intermediates).push_back(std::move(one));
  }
  if (out.anchors.empty())
    return fail(Code::kInvalidArgument, "holds no self-signed certificate, which a root has");
  return out;
}

Result<CertificateRoots> CertificateRoots::fromPem(std::string_view pem) {
  KILN_ASSIGN(std::vector<X509Certificate> certificates, certificatesFromPem(pem));
  return of(std::move(certificates));
}

Result<CertificateRoots> CertificateRoots::load(const std::string& path) {
  KILN_ASSIGN(const std::string pem, readTrustFile(path, kMaxRootBytes));
  return fromPem(pem).map_error([&](const Error& error) { return error.in(path); });
}

Result<RevocationLists> loadRevocationLists(const std::string& path) {
  KILN_ASSIGN(const std::string pem, readTrustFile(path, kMaxListBytes));
  RevocationLists out;
  std::string written;
  const BioPtr bio = readerOf(pem), again = writer();
  while (out.size() < kMaxCertificates) {
    std::shared_ptr<X509_CRL> list(
        PEM_read_bio_X509_CRL(
            bio.get(), nullptr, [](char*, int, int, void*) { return -1; }, nullptr),
        X509_CRL_free);
    clearErrors();
    if (!list) break;
    PEM_write_bio_X509_CRL(again.get(), list.get());
    out.push_back(std::move(list));
  }
  if (out.empty() || !isPem(pem, textOf(again.get())))
    return fail(Code::kInvalidArgument,
                path +
                    ": not 1 to 16 revocation lists in plain PEM, with nothing around them; openssl crl "
                    "-inform DER -in FILE writes one");
  return out;
}

Status checkCodeSigner(const X509Certificate& certificate) {
  X509* x509 = certificate.handle();
  if (X509_check_ca(x509) != 0 || (X509_get_extension_flags(x509) & EXFLAG_CA) != 0)
    return refused(certificate, "is an authority's, which signs certificates alone");
  if ((X509_get_extension_flags(x509) & EXFLAG_KUSAGE) == 0 ||
      (X509_get_key_usage(x509) & KU_DIGITAL_SIGNATURE) == 0)
    return refused(certificate, "is not for signatures (key usage digitalSignature)");
  if (!hasUse(x509, {NID_code_sign}))
    return refused(certificate, "is not for the signing of code (extended key usage codeSigning)");
  return {};
}

Result<std::vector<X509Certificate>> checkChain(std::span<const X509Certificate> chain,
                                                const CertificateRoots& roots, TimePoint at) {
  if (chain.empty() || chain.size() > kMaxCertificates)
    return fail(Code::kDataLoss, "a chain holds 1 to 16 certificates");
  const std::unique_ptr<X509_STORE, StoreFree> store(X509_STORE_new());
  for (const X509Certificate& anchor : roots.anchors) X509_STORE_add_cert(store.get(), anchor.handle());
  const std::unique_ptr<STACK_OF(X509), StackFree> others(sk_X509_new_null());
  for (const X509Certificate& one : chain.subspan(1)) sk_X509_push(others.get(), one.handle());
  for (const X509Certificate& one : roots.intermediates) sk_X509_push(others.get(), one.handle());
  const std::unique_ptr<X509_STORE_CTX, ContextFree> context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), chain[0].handle(), others.get());
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_depth(rules, kMaxIntermediates);
  X509_VERIFY_PARAM_set_auth_level(rules, kSecurityLevel);
  X509_VERIFY_PARAM_set_time(rules, std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count());
  for (const auto& list : roots.revocations) X509_STORE_add_crl(store.get(), list.get());
  if (!roots.revocations.empty())
    X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  const bool good = X509_verify_cert(context.get()) == 1;
  const int error = X509_STORE_CTX_get_error(context.get());
  clearErrors();
  const std::unique_ptr<STACK_OF(X509), OwnedStackFree> built(X509_STORE_CTX_get1_chain(context.get()));
  KILN_ASSIGN(std::vector<X509Certificate> out, certificatesOf(built.get()));
  if (!good) {
    std::string why = X509_verify_cert_error_string(error);
    if (dependsOnTime(error)) why += " at " + rfc3339(at);
    if (error == X509_V_ERR_UNABLE_TO_GET_CRL) why += ": of its authority no list was given";
    const auto depth = static_cast<std::size_t>(X509_STORE_CTX_get_error_depth(context.get()));
    return refused(depth < out.size() ? out[depth] : chain[0], why);
  }
  KILN_TRY(checkCodeSigner(out[0]));
  for (std::size_t i = 1; i < out.size(); ++i) KILN_TRY(checkAuthority(out[i]));
  return out;
}

}  // namespace kiln::signing
