// Whether the body of a Rekor entry is about an envelope and its signer. Source: rekor, types dsse 0.0.1,
// intoto 0.0.2; rekor-tiles, types dsse 0.0.2 and hashedrekord 0.0.2.
#pragma once

#include "signing/dsse/dsse.h"
#include "signing/sigstore/rekor_entry.h"
#include "signing/x509/certificate.h"

namespace kiln::signing {

// kDataLoss unless the body names the payload, the one signature over it and the signer's certificate;
// kUnimplemented for kinds of entries that are not served.
Status checkRekorBody(const RekorEntry& entry, const Envelope& envelope, const X509Certificate& signer);

}  // namespace kiln::signing
