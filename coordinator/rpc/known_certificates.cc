#include "coordinator/rpc/known_certificates.h"

namespace kiln::service {
namespace {

constexpr std::size_t kMost = 65'536;

bool isValid(const signing::Certificate& certificate, TimePoint now) {
  return now >= certificate.notBefore() && now <= certificate.notAfter();
}

}  // namespace

Result<signing::Certificate> KnownCertificates::check(const std::string& pem, TimePoint now) {
  const Digest digest = digestOf(pem);
  {
    const MutexLock lock(mutex_);
    const auto found = issued_.find(digest);
    if (found != issued_.end() && isValid(found->second, now) && isValid(authority_, now))
      return found->second;
  }
  KILN_ASSIGN(signing::Certificate certificate, signing::Certificate::fromPem(pem));
  KILN_TRY(certificate.checkIssuedBy(authority_, now));
  const MutexLock lock(mutex_);
  if (issued_.size() >= kMost) issued_.clear();
  issued_.emplace(digest, certificate);
  return certificate;
}

}  // namespace kiln::service
