#include "api/audit/audit_trust.h"

#include <array>

#include "manifest/statement/check_statement.h"
#include "manifest/statement/ir_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/toolchain_admission.h"
#include "signing/bundle/bundle.h"
#include "signing/log/log_proof.h"
#include "storage/tree/digest_proto.h"

namespace kiln::audit {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 12u << 20;
constexpr std::size_t kRawKey = 32;  // the end of an Ed25519 SubjectPublicKeyInfo

Result<signing::VerifierKey> verifierKey(const std::string& name, signing::NoteKeyKind kind,
                                         const std::string& spki) {
  KILN_ASSIGN(auto key, signing::Ed25519PublicKey::fromRaw(
                            std::string_view(spki).substr(spki.size() - std::min(kRawKey, spki.size()))));
  return signing::VerifierKey{name, kind, std::move(key)};
}

// Whom the statement says it is by; "" where its type says nothing that a root could know.
Result<std::string> authorOf(const Statement& statement) {
  if (statement.predicateType == kProvenanceType) {
    KILN_ASSIGN(auto said, Provenance::fromJson(statement.predicate));
    return std::move(said.builderId);
  }
  if (statement.predicateType == kCheckType) {
    KILN_ASSIGN(auto said, CheckStatement::fromJson(statement.predicate));
    return std::move(said.builderId);
  }
  if (statement.predicateType == kReproductionType) {
    KILN_ASSIGN(auto said, Reproduction::fromJson(statement.predicate));
    return std::move(said.rebuilderId);
  }
  if (statement.predicateType == kIrType) {
    KILN_ASSIGN(auto said, IrStatement::fromJson(statement.predicate));
    return std::move(said.builderId);
  }
  if (statement.predicateType == kTombstoneType) {
    KILN_ASSIGN(auto said, Tombstone::fromJson(statement.predicate));
    return std::move(said.builderId);
  }
  if (statement.predicateType == kToolchainType) {
    KILN_ASSIGN(auto said, ToolchainAdmission::fromJson(statement.predicate));
    return std::move(said.builderId);
  }
  return std::string();
}

// Where the signature stands in a trusted log; nothing where the root trusts none. kNotFound and the like: no
// proof.
Result<std::optional<signing::LogPosition>> positionOf(const AuditTrust& trust, const signing::Bundle& bundle,
                                                       const signing::PublicKey& key) {
  if (trust.logs.empty()) return std::optional<signing::LogPosition>();
  KILN_ASSIGN(const auto proof, signing::checkLogEntry(bundle, key, trust.logs, trust.witnesses));
  if (trust.history) {
    KILN_ASSIGN(const bool grown, trust.history->holds(bundle.logEntry->checkpoint));
    if (!grown)
      return fail(Code::kDataLoss, "the log's tiles do not grow from the checkpoint that proves it");
  }
  signing::LogPosition out{proof.origin, proof.index, {}};
  if (!proof.cosigned.empty()) out.cosigned = proof.cosigned.front().time;
  return std::optional(out);
}

}  // namespace

bool isOutage(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kCancelled ||
         code == Code::kResourceExhausted;
}

std::string_view findingName(FindingKind kind) {
  switch (kind) {
    case FindingKind::kTamperedRow:
      return "tampered-row";
    case FindingKind::kMissingStatement:
      return "missing-statement";
    case FindingKind::kBadSignature:
      return "bad-signature";
    case FindingKind::kUnloggedSignature:
      return "unlogged-signature";
    case FindingKind::kDamagedLog:
      return "damaged-log";
  }
  return "";
}

Result<std::string> BlobReader::read(const Digest& digest, std::uint64_t limit) const {
  KILN_ASSIGN(std::string text, storage::getBlob(store_, instance_, digest, limit));
  if (digestOf(text) != digest) return fail(Code::kDataLoss, "what came is not " + digest.text());
  return text;
}

Result<AuditTrust> AuditTrust::of(const signing::TrustRoot& root, TimePoint now) {
  AuditTrust out{root, now, {}, {}, nullptr};
  for (const signing::TrustedLog& log : root.logs) {
    KILN_ASSIGN(auto key, verifierKey(log.origin, signing::NoteKeyKind::kEd25519, log.spki));
    out.logs.push_back(std::move(key));
  }
  for (const signing::TrustedWitness& witness : root.witnesses) {
    KILN_ASSIGN(auto key, verifierKey(witness.name, signing::NoteKeyKind::kCosignature, witness.spki));
    out.witnesses.push_back(std::move(key));
  }
  return out;
}

Result<std::optional<std::string>> readFor(const Audit& audit, const Digest& digest, std::uint64_t limit,
                                           Finding missing) {
  auto text = audit.blobs.read(digest, limit);
  if (text) return std::optional(std::move(*text));
  if (isOutage(text.error().code)) return fail(text.error());
  missing.what += " " + digest.text() + " cannot be read: " + text.error().message;
  audit.found(missing);
  return std::optional<std::string>();
}

Result<std::optional<SignedStatement>> openStatement(const Audit& audit, const v1::StatementRef& row,
                                                     const std::string& table, bool replaced) {
  const std::optional<SignedStatement> none;
  const auto bad = [&](FindingKind kind, std::string what) {
    audit.report(kind, table, row.payload(), std::move(what));
    return none;
  };
  const auto digest = fromProto(row.bundle());
  if (!digest) return bad(FindingKind::kTamperedRow, "the row names no bundle");
  KILN_ASSIGN(const auto text, readFor(audit, *digest, kMaxBundleBytes,
                                       {FindingKind::kMissingStatement, table, row.payload(), "its bundle"}));
  if (!text) return none;
  const auto bundle = signing::parseBundle(*text);
  if (!bundle) return bad(FindingKind::kBadSignature, "its bundle is malformed: " + bundle.error().message);
  SignedStatement out{{}, bundle->envelope.payload, bundle->keyId};
  if (const Digest held = digestOf(out.payload); held.text() != row.payload())
    return bad(FindingKind::kTamperedRow, "its bundle holds the statement " + held.text());
  const signing::PublicKey* key = audit.trust.root.findKey(bundle->keyId);
  if (!key && !replaced)
    return bad(FindingKind::kBadSignature, "signed with a key that the trust root does not list");
  if (key)
    if (const auto holds = signing::verifyEnvelope(bundle->envelope, std::array{*key}); !holds)
      return bad(FindingKind::kBadSignature, holds.error().message);
  auto statement = parseStatement(out.payload);
  if (!statement) return bad(FindingKind::kBadSignature, "no statement: " + statement.error().message);
  const auto author = authorOf(*statement);
  if (!author) return bad(FindingKind::kBadSignature, "no such predicate: " + author.error().message);
  if (key) {
    const auto position = positionOf(audit.trust, *bundle, *key);
    if (!position && isOutage(position.error().code)) return fail(position.error());
    if (!position)
      (void)bad(FindingKind::kUnloggedSignature, "no trusted log holds it: " + position.error().message);
    const signing::LogPosition* logged = position && *position ? &**position : nullptr;
    const auto may = author->empty()
                         ? Status()
                         : audit.trust.root.checkSigner(bundle->keyId, *author, audit.trust.now, logged);
    if (!may && !replaced) return bad(FindingKind::kBadSignature, may.error().message);
  }
  if (statement->predicateType != row.predicate_type())
    return bad(FindingKind::kTamperedRow, "its predicate type is " + statement->predicateType);
  out.statement = std::move(*statement);
  return std::optional(std::move(out));
}

}  // namespace kiln::audit
