#include "coordinator/drivers/ir_keeper.h"

#include <algorithm>

#include "coordinator/farm/log.h"
#include "coordinator/jobs/ir_outputs.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/signatures/statement_reader.h"
#include "manifest/statement/ir_statement.h"
#include "signing/receipt/receipt.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/artifacts/ir_repository.h"
#include "storage/index/jobs/job_changes.h"

namespace kiln::service {
namespace {

using postgres::Connection;

Status checkKnown(postgres::Pool& database, const std::string& instance, const Digest& artifact,
                  const Digest& ir) {
  KILN_ASSIGN(auto connection, database.acquire());
  KILN_ASSIGN(const auto known, index::irOf(*connection, instance, artifact));
  if (!known || known->ir.hash == ir.hash) return {};
  return fail(Error{Code::kFailedPrecondition,
                    "the compile for the IR of " + artifact.text() + " left " + ir.text() +
                        ", but another IR of it is kept, " + known->ir.text() +
                        ": the compiler does not write the same text again",
                    Json{{"exitCode", kExitNotReproducible}}.dump()});
}

}  // namespace

Status publishIr(const Judging& judging, const index::JobSnapshot& snapshot, const jobs::PublishIr& step) {
  const Stores& stores = judging.stores;
  const index::JobKey& key = snapshot.job.key;
  const index::ResultRecord& result = step.result;
  const Digest artifact = *snapshot.targets.at(static_cast<std::size_t>(step.target)).artifact;
  KILN_ASSIGN(const jobs::Outputs outputs, jobs::readOutputs(result));
  KILN_ASSIGN(const std::string text,
              storage::getBlob(stores.blobs, key.instance, artifact, kMaxOciManifestBytes));
  KILN_ASSIGN(const OciManifest oci, parseOciManifest(text));
  KILN_TRY(jobs::checkIrOutputs(outputs, oci));

  KILN_ASSIGN(const signing::Certificate certificate, signing::Certificate::fromPem(result.certificate));
  KILN_ASSIGN(const std::string receipt, signing::receiptDocument(result.receipt, certificate));
  IrStatement ir;
  ir.builderId = judging.signatory.builder.id;
  ir.invocationId = result.jobId;
  ir.action = result.action;
  ir.worker = result.worker;
  ir.operatorName = result.operatorName;
  ir.receipt = digestOf(receipt);
  ir.startedOn = std::min(result.leased, result.recorded);
  ir.finishedOn = result.recorded;
  ir.toolchain = snapshot.job.toolchainDigest;
  ir.files = jobs::irFiles(outputs);
  KILN_ASSIGN(const std::string statement, irStatement(artifact, ir));
  KILN_TRY(checkKnown(stores.database, key.instance, artifact, ir.ir));
  KILN_ASSIGN(Maker maker, makerOf(result));
  KILN_TRY(checkCounts(judging.recalls, {{digestOf(statement), ir.finishedOn, nullptr}, {std::move(maker)}}));
  KILN_TRY(storage::putBlob(stores.blobs, key.instance, ir.receipt, asBytes(receipt)));
  auto bundle = judging.signatory.signer.sign({.instance = key.instance,
                                               .statement = statement,
                                               .subjectSize = artifact.size,
                                               .receipts = {receipt}});
  if (!bundle) return fail(bundle.error().in("signer"));
  index::BundleRecord record{digestOf(statement), {}, kIrType, key.id, stores.clock.now()};
  KILN_TRY(keepBundle(stores.blobs, key.instance, *bundle, record));
  KILN_TRY(stores.database.transact([&](Connection& c) -> Status {
    KILN_TRY(index::insertStatement(c, key.instance, artifact, record));
    KILN_TRY(index::insertIr(c, key.instance, {artifact, ir.ir, record.payload, ir.files}));
    return index::setTargetIr(c, key, step.target);
  }));
  logInfo("IR kept", {{"instance", key.instance},
                      {"job", key.id},
                      {"artifact", artifact.text()},
                      {"ir", ir.ir.text()},
                      {"worker", result.worker}});
  return {};
}

}  // namespace kiln::service
