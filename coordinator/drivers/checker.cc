#include "coordinator/drivers/checker.h"

#include "coordinator/farm/blob_io.h"
#include "coordinator/farm/log.h"
#include "coordinator/jobs/check_action.h"
#include "coordinator/jobs/evidence.h"
#include "coordinator/planning/planner.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/signatures/statement_reader.h"
#include "manifest/statement/check_statement.h"
#include "signing/receipt/receipt.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/job_repository.h"

namespace kiln::service {
namespace {

using postgres::Connection;

const index::TargetRecord& targetAt(const index::JobSnapshot& snapshot, int target) {
  return snapshot.targets.at(static_cast<std::size_t>(target));
}

Result<Json> readReport(storage::BlobStore& blobs, const std::string& instance,
                        const index::ResultRecord& result) {
  KILN_ASSIGN(jobs::Outputs outputs, jobs::readOutputs(result));
  const jobs::OutputFile* file = outputs.find(kCheckReport);
  if (!file) return fail(Code::kDataLoss, std::string(kCheckReport) + " is not among the check's outputs");
  KILN_ASSIGN(std::string text, storage::getBlob(blobs, instance, file->digest, kMaxCheckReportBytes));
  return parseCanonicalJson(text);
}

}  // namespace

Status Checker::plan(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                     const jobs::PlanCheck& step) {
  const index::JobKey& key = snapshot.job.key;
  const index::TargetRecord& target = targetAt(snapshot, step.target);
  std::optional<index::ArtifactRecord> artifact;
  {
    KILN_ASSIGN(auto connection, judging_.stores.database.acquire());
    KILN_ASSIGN(artifact, index::loadArtifact(*connection, key.instance, *target.artifact));
  }
  if (!artifact) return fail(Code::kNotFound, "artifact " + target.artifact->text() + " is gone");
  std::optional<jobs::Outputs> emulation;
  if (step.emulation) {
    KILN_ASSIGN(emulation, jobs::readOutputs(*step.emulation));
  }
  KILN_ASSIGN(jobs::BuiltAction built,
              jobs::buildCheckAction(*artifact, *delivery.check, emulation ? &*emulation : nullptr));
  KILN_TRY(storage::uploadMissing(judging_.stores.blobs, key.instance, built.blobs));
  return appendActions(judging_.stores.database, snapshot,
                       {{index::ActionKind::kCheck, target.target, built.action, {}}});
}

Status Checker::publish(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                        const jobs::PublishCheck& step) {
  const index::JobKey& key = snapshot.job.key;
  const Digest artifact = *targetAt(snapshot, step.target).artifact;
  const index::ResultRecord& result = step.result;
  CheckStatement check;
  KILN_ASSIGN(check.report, readReport(judging_.stores.blobs, key.instance, result));
  KILN_ASSIGN(signing::Certificate certificate, signing::Certificate::fromPem(result.certificate));
  KILN_ASSIGN(std::string receipt, signing::receiptDocument(result.receipt, certificate));
  check.builderId = judging_.signatory.builder.id;
  check.invocationId = result.jobId;
  check.action = result.action;
  check.plan = delivery.check->plan;
  check.worker = result.worker;
  check.operatorName = result.operatorName;
  check.receipt = digestOf(receipt);
  check.startedOn = std::min(result.leased, result.recorded);
  check.finishedOn = result.recorded;
  KILN_ASSIGN(std::string statement, checkStatement(artifact, check));
  KILN_ASSIGN(Maker maker, makerOf(result));
  KILN_TRY(checkCounts(judging_.recalls, {.place = {digestOf(statement), check.finishedOn, nullptr},
                                          .makers = {std::move(maker)},
                                          .devices = deviceTexts(check.report)}));
  KILN_TRY(storage::putBlob(judging_.stores.blobs, key.instance, check.receipt, asBytes(receipt)));
  auto bundle = judging_.signatory.signer.sign({.instance = key.instance,
                                                .statement = statement,
                                                .subjectSize = artifact.size,
                                                .receipts = {receipt}});
  if (!bundle) return fail(bundle.error().in("signer"));
  index::BundleRecord record{digestOf(statement), digestOf(*bundle), kCheckType, key.id,
                             judging_.stores.clock.now()};
  KILN_TRY(readMentions(*bundle, record));
  KILN_TRY(storage::putBlob(judging_.stores.blobs, key.instance, record.bundle, asBytes(*bundle)));
  const auto outcome = check.passed() ? index::CheckOutcome::kPassed : index::CheckOutcome::kFailed;
  KILN_TRY(judging_.stores.database.transact([&](Connection& c) -> Status {
    KILN_TRY(index::insertStatement(c, key.instance, artifact, record));
    return index::setTargetCheck(c, key, step.target, outcome);
  }));
  logInfo(check.passed() ? "artifact passed its check" : "artifact failed its check",
          {{"instance", key.instance},
           {"job", key.id},
           {"artifact", artifact.text()},
           {"worker", result.worker},
           {"failures", check.failures()}});
  return {};
}

}  // namespace kiln::service
