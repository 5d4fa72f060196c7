// Proofs that a log of certificates was shown one before it was issued. Source: RFC 6962, sections 3.2 and
// 3.3.
#pragma once

#include <span>

#include "signing/sigstore/log_key.h"
#include "signing/x509/certificate.h"

namespace kiln::signing {

// kDataLoss unless the timestamps in `certificate` (SCTs, of which there may be 1 to 16) hold one that a log
// of `logs` signed while its key was in use, for the key of `issuer`, who issued the certificate.
Status checkShown(const X509Certificate& certificate, const X509Certificate& issuer,
                  std::span<const KnownLog> logs);

}  // namespace kiln::signing
