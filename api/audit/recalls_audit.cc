#include "api/audit/recalls_audit.h"

#include <fmt/format.h>

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

Status auditKnownRecalls(const Audit& audit, IndexSource& source, const signing::Recalls& known) {
  const auto found = [&](FindingKind kind, const std::string& what) {
    audit.report(kind, "recalls", "recalls.json",
                 fmt::format("{}, and the auditor knows version {}", what, known.version));
    return Status();
  };
  const auto text = source.recalls();
  if (!text && text.error().code != Code::kDataLoss) return fail(text.error());
  if (!text || text->empty()) return found(FindingKind::kMissingStatement, "the farm has none in force");
  const auto recalls = signing::Recalls::parse(*text, audit.trust.root, signing::LogProofs::kIfAny);
  if (!recalls) return found(FindingKind::kBadSignature, recalls.error().message);
  if (recalls->extends(known)) return {};
  const std::string version = fmt::format("version {} that the farm has in force", recalls->version);
  if (known.extends(*recalls)) return found(FindingKind::kMissingStatement, version + " is an earlier one");
  return found(FindingKind::kTamperedRow, version + " leaves out what was recalled");
}

}  // namespace kiln::audit
