// Reads a TLS peer's certificate. That its chain ends at one of the authorities, TLS has checked.
#pragma once

#include <string_view>

#include "coordinator/access/access_rules.h"
#include "coordinator/access/identity.h"
#include "manifest/base/clock.h"
#include "signing/keys/certificate.h"

namespace kiln::access {

// A WorkerHolder if the farm's worker authority issued it, else a CertificateHolder. Nobody whom the worker
// authority named is taken for a person of that name: whatever else it signed (another kind of key, a CA) is
// kUnauthenticated, as is what is not valid at `now`: a connection may outlive its certificate.
Result<Identity> identifyCertificate(std::string_view pem, const signing::Certificate& workerAuthority,
                                     TimePoint now);

// kUnauthenticated if it cannot be read.
Result<CertificateId> certificateId(std::string_view pem);

// The digest of a certificate's SubjectPublicKeyInfo, "sha256:<hex>".
std::string keyDigest(const signing::PublicKey& key);

}  // namespace kiln::access
