#include "signing/sigstore/sct.h"

#include <openssl/ct.h>
#include <openssl/x509v3.h>

#include <memory>

#include "manifest/base/digest.h"
#include "signing/keys/openssl.h"

namespace kiln::signing {
namespace {

constexpr int kMaxTimestamps = 16;

tl::unexpected<Error> refused(const char* why) {
  return fail(Code::kDataLoss, std::string("certificate: ") + why);
}

// `number` in `bytes` bytes, the highest first.
std::string bigEndian(std::uint64_t number, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(number >> (8 * i));
  return out;
}

std::string keyHash(const X509Certificate& issuer) {
  unsigned char* data = nullptr;
  const int size = i2d_PUBKEY(X509_get0_pubkey(issuer.handle()), &data);
  const Digest digest = digestOf(
      std::string_view(reinterpret_cast<char*>(data), size > 0 ? static_cast<std::size_t>(size) : 0));
  OPENSSL_free(data);
  return {digest.hash.begin(), digest.hash.end()};
}

// The certificate as the log saw it: without the timestamps.
std::string shownForm(const X509Certificate& certificate) {
  const std::unique_ptr<X509, decltype(&X509_free)> copy(X509_dup(certificate.handle()), X509_free);
  const int at = X509_get_ext_by_NID(copy.get(), NID_ct_precert_scts, -1);
  X509_EXTENSION_free(X509_delete_ext(copy.get(), at));
  unsigned char* data = nullptr;
  const int size = i2d_re_X509_tbs(copy.get(), &data);
  std::string out(reinterpret_cast<char*>(data), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(data);
  return out;
}

// What the log signed: RFC 6962's digitally-signed structure for a precertificate.
std::string signedForm(const SCT* timestamp, const std::string& issuerHash, const std::string& shown) {
  unsigned char* extensions = nullptr;
  const std::size_t size = SCT_get0_extensions(timestamp, &extensions);
  std::string out =
      bigEndian(0, 2) + bigEndian(SCT_get_timestamp(timestamp), 8) + bigEndian(1, 2) + issuerHash;
  out += bigEndian(shown.size(), 3) + shown + bigEndian(size, 2);
  return out.append(reinterpret_cast<const char*>(extensions), size);
}

bool isSignedBy(const SCT* timestamp, const std::string& message, std::span<const KnownLog> logs) {
  unsigned char *id = nullptr, *signature = nullptr;
  const std::size_t idSize = SCT_get0_log_id(timestamp, &id);
  const std::size_t size = SCT_get0_signature(timestamp, &signature);
  const std::string_view name(reinterpret_cast<const char*>(id), idSize);
  const std::uint64_t milliseconds = SCT_get_timestamp(timestamp);
  if (SCT_get_version(timestamp) != SCT_VERSION_V1 || milliseconds > 253402300799000) return false;
  const TimePoint time{std::chrono::milliseconds(milliseconds)};
  for (const KnownLog& log : logs)
    if (log.id == name && log.key && log.validFor.holds(time) &&
        log.key->verifiesSha256(asBytes(message), Bytes(signature, size)))
      return true;
  return false;
}

}  // namespace

Status checkShown(const X509Certificate& certificate, const X509Certificate& issuer,
                  std::span<const KnownLog> logs) {
  const std::unique_ptr<STACK_OF(SCT), decltype(&SCT_LIST_free)> list(
      static_cast<STACK_OF(SCT)*>(
          X509_get_ext_d2i(certificate.handle(), NID_ct_precert_scts, nullptr, nullptr)),
      SCT_LIST_free);
  clearErrors();
  const int count = list ? sk_SCT_num(list.get()) : 0;
  if (count < 1 || count > kMaxTimestamps)
    return refused("holds no timestamp of a log of certificates, or too many");
  const std::string hash = keyHash(issuer), shown = shownForm(certificate);
  for (int i = 0; i < count; ++i)
    if (isSignedBy(sk_SCT_value(list.get(), i), signedForm(sk_SCT_value(list.get(), i), hash, shown), logs))
      return {};
  return refused("no log of certificates that is believed was shown it");
}

}  // namespace kiln::signing
