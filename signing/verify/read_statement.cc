#include "signing/verify/read_statement.h"

#include <algorithm>
#include <array>

#include "manifest/base/printable.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/image_statement.h"
#include "manifest/statement/vsa.h"
#include "signing/log/log_proof.h"

namespace kiln::signing {
namespace {

tl::unexpected<Error> denied(const std::string& why) {
  return fail(Code::kPermissionDenied, why);
}

std::vector<std::string> sourcesOf(const Provenance& provenance) {
  std::vector<std::string> out;
  for (const Material& material : provenance.resolvedDependencies) {
    if (!material.uri.empty()) out.push_back(material.uri);
    const auto claimed = material.annotations.find("claimedOrigin");
    if (claimed != material.annotations.end()) out.push_back(claimed->second);
  }
  const auto source = provenance.externalParameters.find("modelSource");
  if (source != provenance.externalParameters.end()) out.push_back(source->second);
  return out;
}

Status checkSubject(const Statement& statement, const Digest& artifact, bool alone) {
  const bool about = std::ranges::any_of(statement.subjects,
                                         [&](const Subject& one) { return one.sha256 == artifact.hash; });
  if (about && (!alone || statement.subjects.size() == 1)) return {};
  return fail(Code::kDataLoss,
              "its statement is about another artifact (sha256:" + toHex(statement.subjects[0].sha256) + ")");
}

// When `wanted` of them had seen it; the earliest comes first.
std::optional<TimePoint> seenBy(const std::vector<Cosigned>& cosigned, std::size_t wanted) {
  if (cosigned.size() < wanted) return std::nullopt;
  return cosigned[wanted - 1].time;
}

}  // namespace

struct StatementReader::Opened {
  Bundle bundle;
  StatementEvidence evidence;
  std::optional<LogPosition> logged;
  std::optional<TimePoint> seen;  // by the first witness

  const LogPosition* place() const { return logged ? &*logged : nullptr; }
};

StatementReader::StatementReader(const TrustRoot& root, const Recalls* recalls, TimePoint now, int witnesses)
    : root_(root),
      recalls_(recalls),
      now_(now),
      witnesses_(static_cast<std::size_t>(std::max(witnesses, 1))),
      logs_(root) {}

Result<StatementReader::Opened> StatementReader::open(const std::string& text) const {
  Opened out;
  KILN_ASSIGN(out.bundle, parseBundle(text));
  const PublicKey* key = root_.findKey(out.bundle.keyId);
  if (!key) return denied("signed with a key that the trust root does not list");
  KILN_TRY(verifyEnvelope(out.bundle.envelope, std::array{*key}));
  out.evidence.payload = digestOf(out.bundle.envelope.payload);
  out.evidence.keyId = out.bundle.keyId;
  auto proof = checkLogEntry(out.bundle, *key, logs_.logs(), logs_.witnesses());
  if (!proof) {
    const Code code = proof.error().code;
    // No entry, or one of a log that means nothing here.
    if (code == Code::kNotFound || code == Code::kPermissionDenied) return out;
    return fail(proof.error());
  }
  LogPosition place{proof->origin, proof->index, seenBy(proof->cosigned, witnesses_)};
  if (!logs_.isValid(out.bundle.logEntry->logId, place.cosigned.value_or(now_))) return out;
  out.evidence.logged = true;
  out.evidence.log = place.origin;
  out.evidence.logIndex = place.index;
  for (const Cosigned& one : proof->cosigned) out.evidence.witnesses.insert(one.witness);
  out.logged = std::move(place);
  out.seen = seenBy(proof->cosigned, 1);
  return out;
}

Status StatementReader::checkSigner(const Opened& opened, const std::string& id) const {
  return root_.checkSigner(opened.bundle.keyId, id, now_, opened.place());
}

Status StatementReader::checkRecalled(const Opened& opened, std::optional<TimePoint> madeAt,
                                      const std::vector<std::string>& sources,
                                      const std::vector<std::string>& devices) const {
  if (!recalls_) return {};
  const RecallEntry* recall = recalls_->touches({opened.evidence.payload, madeAt, opened.place()},
                                                opened.bundle.keyId, sources, devices);
  return recall ? denied(describe(*recall)) : Status{};
}

Status StatementReader::checkWorker(const Opened& opened, TimePoint madeAt, const std::string& worker,
                                    const std::string& operatorName) const {
  if (!recalls_) return {};
  const RecallEntry* recall =
      recalls_->touchesWorker({opened.evidence.payload, madeAt, opened.place()}, worker, operatorName);
  return recall ? denied(describe(*recall)) : Status{};
}

Result<CountedStatement> StatementReader::readProvenance(Opened opened, const Json& predicate,
                                                         const StatementSubject& about) const {
  KILN_ASSIGN(Provenance provenance, Provenance::fromJson(predicate));
  KILN_TRY(checkAgainstSpec(provenance, about.manifest.spec));
  KILN_TRY(checkSigner(opened, provenance.builderId));
  KILN_TRY(checkRecalled(opened, provenance.finishedOn, sourcesOf(provenance), {}));
  std::string without;
  std::erase_if(provenance.builders, [&](const Builder& builder) {
    const Status counts = checkWorker(opened, provenance.finishedOn, builder.worker, builder.operatorName);
    if (!counts)
      without += (without.empty() ? "" : "; ") + printable(builder.worker) + " " + counts.error().message;
    return !counts;
  });
  if (provenance.builders.empty()) return denied(without);
  return CountedStatement{std::move(provenance), std::move(opened.evidence), opened.seen, std::move(without)};
}

Result<StatementBody> StatementReader::readOther(const Opened& opened, const Statement& statement,
                                                 const StatementSubject& about) const {
  if (statement.predicateType == kCheckType) {
    KILN_ASSIGN(CheckStatement check, CheckStatement::fromJson(statement.predicate));
    KILN_TRY(checkSigner(opened, check.builderId));
    KILN_TRY(checkRecalled(opened, check.finishedOn, {}, deviceTexts(check.report)));
    KILN_TRY(checkWorker(opened, check.finishedOn, check.worker, check.operatorName));
    return StatementBody(std::move(check));
  }
  if (statement.predicateType == kReproductionType) {
    KILN_ASSIGN(Reproduction again, Reproduction::fromJson(statement.predicate));
    KILN_TRY(checkSigner(opened, again.rebuilderId));
    if (again.manifest != about.config)
      return fail(Code::kDataLoss,
                  "its statement reproduces another Manifest (" + again.manifest.text() + ")");
    KILN_TRY(checkRecalled(opened, again.finishedOn, {}, {}));
    KILN_TRY(checkWorker(opened, again.finishedOn, again.worker, again.operatorName));
    return StatementBody(std::move(again));
  }
  if (statement.predicateType == kTombstoneType) {
    KILN_ASSIGN(Tombstone tombstone, Tombstone::fromJson(statement.predicate));
    KILN_TRY(checkSigner(opened, tombstone.builderId));
    KILN_TRY(checkRecalled(opened, tombstone.issuedOn, {}, {}));
    return StatementBody(std::move(tombstone));
  }
  if (statement.predicateType == kVsaType) {
    KILN_ASSIGN(VerificationSummary summary, VerificationSummary::fromJson(statement.predicate));
    KILN_TRY(checkSigner(opened, summary.verifierId));
    if (summary.artifact.hash != about.artifact.hash)
      return fail(Code::kDataLoss, "it summarises another artifact (" + summary.artifact.text() + ")");
    KILN_TRY(checkRecalled(opened, summary.timeVerified, {}, {}));
    Attestation attestation{statement.predicateType, opened.evidence};
    attestation.evidence.ids = {summary.verifierId};
    attestation.summary = std::move(summary);
    return StatementBody(std::move(attestation));
  }
  if (statement.predicateType == kIrType) {
    KILN_ASSIGN(IrStatement ir, IrStatement::fromJson(statement.predicate));
    KILN_TRY(checkSigner(opened, ir.builderId));
    KILN_TRY(ir.checkAbout(about.artifact, about.manifest.spec));
    KILN_TRY(checkRecalled(opened, ir.finishedOn, {}, {}));
    KILN_TRY(checkWorker(opened, ir.finishedOn, ir.worker, ir.operatorName));
    Attestation attestation{statement.predicateType, opened.evidence};
    attestation.evidence.ids = {ir.builderId};
    attestation.ir = std::move(ir);
    return StatementBody(std::move(attestation));
  }
  if (statement.predicateType == kCompileType)
    KILN_TRY(checkCompileSummary(statement.predicate, about.manifest, about.config));
  // These, and a third party's: it does not name its author, so whoever the key speaks for does.
  Attestation attestation{statement.predicateType, opened.evidence};
  if (statement.predicateType == kImageType) {
    KILN_ASSIGN(const StatedImage said,
                readImageStatement(statement, about.artifact, about.manifest.spec.target));
    attestation.image = said.digest;
  }
  if (statement.predicateType == kInputStatementType)
    attestation.input = SignedInput::of(statement.predicate);
  Status why;
  for (const TrustedBuilder& builder : root_.builders) {
    if (std::ranges::find(builder.keys, opened.bundle.keyId) == builder.keys.end()) continue;
    why = checkSigner(opened, builder.id);
    if (why) attestation.evidence.ids.push_back(builder.id);
  }
  if (attestation.evidence.ids.empty())
    return why ? denied("signed with a key that speaks for nobody in the trust root") : fail(why.error());
  KILN_TRY(checkRecalled(opened, std::nullopt, {}, {}));
  return StatementBody(std::move(attestation));
}

Result<CountedStatement> StatementReader::read(const std::string& text, const StatementSubject& about) const {
  KILN_ASSIGN(Opened opened, open(text));
  KILN_ASSIGN(const Statement statement, parseStatement(opened.bundle.envelope.payload));
  const std::string& type = statement.predicateType;
  const bool ours = type == kProvenanceType || type == kCheckType || type == kReproductionType ||
                    type == kTombstoneType || type == kVsaType || type == kCompileType || type == kIrType;
  KILN_TRY(checkSubject(statement, about.artifact, ours));
  if (type == kProvenanceType) return readProvenance(std::move(opened), statement.predicate, about);
  KILN_ASSIGN(StatementBody said, readOther(opened, statement, about));
  return CountedStatement{std::move(said), std::move(opened.evidence), opened.seen, ""};
}

}  // namespace kiln::signing
