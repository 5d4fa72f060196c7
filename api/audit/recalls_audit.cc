#include "api/audit/recalls_audit.h"

#include "signing/recall/recalls.h"

namespace kiln::audit {

Result<RecallsInForce> RecallsInForce::read(const Audit& audit, IndexSource& source, bool report) {
  RecallsInForce out;
  const signing::TrustRoot& root = audit.trust.root;
  if (!root.recallKeys) return out;
  for (const signing::PublicKey& key : root.recallKeys->issuers.keys) out.keys_.insert(key.der());
  const auto wrong = [&](FindingKind kind, std::string what) {
    if (report) audit.report(kind, "recalls", "recalls.json", std::move(what));
    return out;
  };
  const auto text = source.recalls();
  if (!text && text.error().code != Code::kDataLoss) return fail(text.error());
  if (!text) return wrong(FindingKind::kTamperedRow, "the farm has none in force: " + text.error().message);
  if (text->empty()) return out;
  const auto recalls = signing::Recalls::parse(*text, root, signing::LogProofs::kIfAny);
  if (!recalls) return wrong(FindingKind::kBadSignature, recalls.error().message);
  for (const signing::RecallEntry& entry : recalls->entries)
    out.held_.insert(signing::logDigest(entry.envelope.payloadType, entry.envelope.payload));
  return out;
}

}  // namespace kiln::audit
