#include "signing/server/local_signer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <variant>

#include "manifest/base/printable.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/image_statement.h"
#include "manifest/statement/ir_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/statement/tune_statement.h"
#include "manifest/statement/vsa.h"
#include "signing/receipt/receipt.h"
#include "signing/server/action_check.h"
#include "signing/server/check_claim.h"
#include "signing/server/closure.h"
#include "signing/server/image_check.h"
#include "signing/server/ir_claim.h"
#include "signing/server/receipt_check.h"
#include "signing/server/reproduction_claim.h"
#include "signing/server/summary_check.h"
#include "signing/server/tombstone_check.h"
#include "signing/server/toolchain_check.h"
#include "signing/server/tune_claim.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxReceipts = 64;

// The claim of a compile statement, which is compared as a whole.
struct CompileClaim {
  Json summary;
};
// The same of an image statement.
struct ImageClaim {
  Statement statement;
};

// What is to be signed.
struct Claim {
  Digest subject;  // an artifact; of an admission, a toolchain's tree; of a tune statement, a record
  std::variant<Provenance, CompileClaim, ImageClaim, CheckStatement, Reproduction, VerificationSummary,
               Tombstone, ToolchainAdmission, TuneStatement, IrStatement>
      about;
};

constexpr std::array<std::string_view, 10> kKnown{
    kProvenanceType,   kCompileType, kImageType,     kIrType,        kCheckType,
    kReproductionType, kVsaType,     kTombstoneType, kToolchainType, kTuneType};

Result<Claim> readClaim(const SignRequest& request) {
  KILN_TRY(parseCanonicalJson(request.statement));
  KILN_ASSIGN(Statement statement, parseStatement(request.statement));
  if (std::ranges::find(kKnown, statement.predicateType) == kKnown.end())
    return fail(Code::kInvalidArgument,
                fmt::format("statement: predicate type {} is not signed here; known: {}",
                            inQuotes(statement.predicateType), fmt::join(kKnown, ", ")));
  const auto subject = artifactOf(statement);
  if (!subject)
    return fail(Code::kInvalidArgument,
                "statement: must have one subject, or of an image statement the artifact and the image");
  Claim claim;
  claim.subject = {subject->hash, request.subjectSize};
  if (statement.predicateType == kCompileType) {
    claim.about = CompileClaim{std::move(statement.predicate)};
  } else if (statement.predicateType == kImageType) {
    claim.about = ImageClaim{std::move(statement)};
  } else if (statement.predicateType == kCheckType) {
    KILN_ASSIGN(claim.about, CheckStatement::fromJson(statement.predicate));
  } else if (statement.predicateType == kReproductionType) {
    KILN_ASSIGN(claim.about, Reproduction::fromJson(statement.predicate));
  } else if (statement.predicateType == kVsaType) {
    KILN_ASSIGN(claim.about, VerificationSummary::fromJson(statement.predicate));
  } else if (statement.predicateType == kTombstoneType) {
    KILN_ASSIGN(claim.about, Tombstone::fromJson(statement.predicate));
  } else if (statement.predicateType == kToolchainType) {
    KILN_ASSIGN(claim.about, ToolchainAdmission::fromJson(statement.predicate));
  } else if (statement.predicateType == kTuneType) {
    KILN_ASSIGN(claim.about, TuneStatement::fromJson(statement.predicate));
  } else if (statement.predicateType == kIrType) {
    KILN_ASSIGN(claim.about, IrStatement::fromJson(statement.predicate));
  } else {
    KILN_ASSIGN(claim.about, Provenance::fromJson(statement.predicate));
  }
  return claim;
}

}  // namespace

Status LocalSigner::check(const SignRequest& request) const {
  KILN_ASSIGN(Claim claim, readClaim(request));
  if (request.receipts.size() > kMaxReceipts) return fail(Code::kInvalidArgument, "more than 64 receipts");
  if (const auto* admission = std::get_if<ToolchainAdmission>(&claim.about))
    return checkAdmission(store_, request.instance, *admission, claim.subject);
  const auto evidence = [&]() -> Evidence {
    return {store_, request.instance, request.receipts, authority_, clock_.now()};
  };
  if (const auto* tune = std::get_if<TuneStatement>(&claim.about))
    return checkTune(evidence(), *tune, claim.subject);
  if (const auto* compile = std::get_if<CompileClaim>(&claim.about)) {
    KILN_ASSIGN(const Closure known, loadManifests(store_, request.instance, claim.subject));
    if (auto same = checkCompileSummary(compile->summary, known.manifest, known.oci.config); !same)
      return fail(Code::kFailedPrecondition, "compile: " + same.error().message);
    return {};
  }
  if (const auto* image = std::get_if<ImageClaim>(&claim.about))
    return checkImage(store_, request.instance, image->statement, claim.subject);
  if (const auto* summary = std::get_if<VerificationSummary>(&claim.about)) {
    if (request.receipts.size() != 1)
      return fail(Code::kInvalidArgument, "summary: the policy must come with it, and nothing else");
    KILN_ASSIGN(const Closure known, loadManifests(store_, request.instance, claim.subject));
    return checkSummary(*summary, request.receipts[0], claim.subject, known, records_, keys_);
  }
  KILN_ASSIGN(Closure closure, loadClosure(store_, request.instance, claim.subject));
  if (const auto* check = std::get_if<CheckStatement>(&claim.about))
    return checkClaim(evidence(), *check, closure);
  if (const auto* ir = std::get_if<IrStatement>(&claim.about)) return checkIr(evidence(), *ir, closure);
  if (const auto* again = std::get_if<Reproduction>(&claim.about))
    return checkReproduction(evidence(), *again, closure);
  if (const auto* tombstone = std::get_if<Tombstone>(&claim.about))
    return checkTombstone(*tombstone, claim.subject, records_, keys_);
  const Provenance& provenance = std::get<Provenance>(claim.about);
  const CompileSpec& spec = closure.manifest.spec;
  if (auto same = checkAgainstSpec(provenance, spec); !same)
    return fail(Code::kFailedPrecondition, same.error().message);
  if (auto fixtures = provenance.fixtures()) KILN_TRY(checkFixtures(store_, request.instance, *fixtures));
  KILN_ASSIGN(ReceiptSummary said,
              checkReceipts(request.receipts, provenance, closure, authority_, clock_.now()));
  KILN_TRY(checkSandboxes(store_, request.instance, provenance, said));
  KILN_TRY(checkDissent(store_, request.instance, provenance, said.action, authority_, clock_.now()));
  return checkAction(store_, request.instance, said.action, spec);
}

Result<std::string> LocalSigner::sign(const SignRequest& request) {
  KILN_ASSIGN(auto first, records_.find(request.statement));
  if (first) return *first;
  KILN_TRY(check(request));
  KILN_ASSIGN(Envelope envelope, signEnvelope(kInTotoPayload, request.statement, key_));
  return records_.add(request.instance, envelope, key_.publicKey(), request.trace);
}

}  // namespace kiln::signing
