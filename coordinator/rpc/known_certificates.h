// Workers' certificates that the authority is known to have issued: a signature is verified at a worker's
// first call and not at each one.
#pragma once

#include <map>
#include <string>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/base/mutex.h"
#include "signing/keys/certificate.h"

namespace kiln::service {

// Thread safe. Holds some thousand bytes for each certificate that was issued, of which it forgets all when
// there are too many.
class KnownCertificates {
 public:
  // `authority` must outlive it.
  explicit KnownCertificates(const signing::Certificate& authority) : authority_(authority) {}

  // As Certificate::fromPem() and checkIssuedBy(); the time is looked at in every call.
  Result<signing::Certificate> check(const std::string& pem, TimePoint now);

 private:
  const signing::Certificate& authority_;
  Mutex mutex_;
  std::map<Digest, signing::Certificate> issued_ KILN_GUARDED_BY(mutex_);  // by the digest of their PEM text
};

}  // namespace kiln::service
