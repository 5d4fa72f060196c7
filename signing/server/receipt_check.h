// Whether the builders that a provenance names really ran its action and got the artifact's files.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/statement/provenance.h"
#include "signing/keys/certificate.h"
#include "signing/receipt/receipt.h"
#include "signing/server/closure.h"

namespace kiln::signing {

// What valid receipts have in common.
struct ReceiptSummary {
  Digest action;  // that all are about
  std::set<Digest> sandboxPolicies;
  std::map<Digest, Digest> policyOf;  // by the receipt's document
};

// kFailedPrecondition unless the receipt lists manifest.json and every layer of the closure below `folder`
// with its digest.
Status checkOutputs(const Receipt& receipt, const Closure& closure, const std::string& folder = "output/");

// kFailedPrecondition unless there is exactly one valid receipt document per builder of `provenance`, all of
// one action (internalParameters "action"), under the policies of internalParameters "sandboxPolicy", with
// exit code 0, listing manifest.json and every layer of the closure below output/ with its digest. Workers
// are told apart by operator and name, and by key.
Result<ReceiptSummary> checkReceipts(const std::vector<std::string>& documents, const Provenance& provenance,
                                     const Closure& closure, const Certificate& authority, TimePoint now);

// Whose sandbox a policy is of, as foreignSandbox(); kFailedPrecondition if it is none or not in the store.
Result<std::string> sandboxOf(storage::BlobStore& store, const std::string& instance, const Digest& policy);

// Every policy is in the store, and each builder of `provenance` says whose sandbox it ran in as the document
// of its receipt's policy does: only for what is Kiln's own nothing is said. kFailedPrecondition otherwise.
Status checkSandboxes(storage::BlobStore& store, const std::string& instance, const Provenance& provenance,
                      const ReceiptSummary& said);

// The receipts of outvoted builders that the provenance names are in the store, by workers of the authority
// who are not among the builders, and about the same action. kFailedPrecondition otherwise.
Status checkDissent(storage::BlobStore& store, const std::string& instance, const Provenance& provenance,
                    const Digest& action, const Certificate& authority, TimePoint now);

}  // namespace kiln::signing
