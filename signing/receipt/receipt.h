// Receipts: what a worker says it ran, signed with its own key. Evidence, never authority: the control plane
// rehashes every output, and a receipt only adds who ran what under which lease. Form: a DSSE envelope
// (payloadType application/vnd.kiln.receipt.v1+json) around canonical JSON; see manifest/FORMAT.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "signing/keys/certificate.h"

namespace kiln::signing {

struct ReceiptOutput {
  std::string path;  // relative to the working directory: "output/program.so"
  Digest digest;
  bool operator==(const ReceiptOutput&) const = default;
};

// The largest canonical JSON of a policy that a stated digest may name.
inline constexpr std::uint64_t kMaxSandboxPolicyBytes = 64 << 10;

struct Receipt {
  Digest action;
  std::string lease;
  std::uint64_t epoch = 0;
  std::string worker, operatorName;  // as in the certificate
  int exitCode = 0;
  Digest sandboxPolicy;                // of the document of the policy it ran under; a blob of the store
  std::vector<ReceiptOutput> outputs;  // sorted by path, each once
  bool operator==(const Receipt&) const = default;
};

// The envelope in canonical JSON. kInvalidArgument if outputs are unsorted, their paths unsafe, or the policy
// is too large.
Result<std::string> makeReceipt(const Receipt& receipt, const PrivateKey& key);

// What the envelope says, once its signature, the certificate's issuer and validity at `now`, and the
// identity (worker and operator as in the certificate) are checked. kInvalidArgument (malformed), kDataLoss
// (signature) or kPermissionDenied (certificate, identity).
Result<Receipt> verifyReceipt(std::string_view envelope, const Certificate& certificate,
                              const Certificate& authority, TimePoint now);

// What the envelope says, with nothing checked but its form: for one that verifyReceipt() let through when it
// came. Errors as there.
Result<Receipt> readReceipt(std::string_view envelope);

// The receipt with its certificate in one document {"certificate","envelope"}: what the coordinator stores as
// a blob, the provenance names and the signer gets.
Result<std::string> receiptDocument(std::string_view envelope, const Certificate& certificate);
// What a document's envelope says, as readReceipt().
Result<Receipt> readReceiptDocument(std::string_view document);
struct VerifiedReceipt {
  Receipt receipt;
  std::string keyId;  // of the certificate's key
};
Result<VerifiedReceipt> verifyReceiptDocument(std::string_view document, const Certificate& authority,
                                              TimePoint now);

}  // namespace kiln::signing
