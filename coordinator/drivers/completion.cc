#include "coordinator/drivers/completion.h"

#include <algorithm>
#include <map>

#include "coordinator/drivers/check_report.h"
#include "coordinator/drivers/executed_result.h"
#include "coordinator/drivers/sandbox_rule.h"
#include "coordinator/drivers/tuned_device.h"
#include "coordinator/farm/blob_io.h"
#include "coordinator/farm/log.h"
#include "coordinator/jobs/action_builder.h"
#include "coordinator/jobs/check_action.h"
#include "coordinator/jobs/executed_outputs.h"
#include "coordinator/jobs/ir_outputs.h"
#include "coordinator/jobs/submission.h"
#include "coordinator/jobs/tuning_use.h"
#include "coordinator/tuning/tuner.h"
#include "coordinator/tuning/tuning_documents.h"
#include "coordinator/view/job_logs.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/manifest.h"
#include "manifest/base/printable.h"
#include "manifest/json/json.h"
#include "manifest/statement/check_statement.h"
#include "signing/receipt/receipt.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/postgres/commit_soon.h"
#include "storage/source/fetched_model.h"

namespace kiln::service {
namespace {

using postgres::Connection;
using reapi::ActionResult;

Status refuse(const std::string& what) {
  return fail(Code::kDataLoss, what);
}

// The signed receipt must say what the unsigned report says, about this lease and its worker.
Status checkReceipt(const signing::Receipt& receipt, const index::RunRecord& run, const ActionResult& result,
                    const jobs::Outputs& outputs) {
  // The outputs of the farm's own actions are named below their one output directory.
  const std::string prefix = run.kind == index::ActionKind::kExecute ? "" : "output/";
  if (receipt.action != run.action || receipt.lease != run.id || receipt.epoch != run.epoch)
    return refuse("the receipt is about another lease or action");
  if (receipt.worker != run.worker || receipt.operatorName != run.operatorName)
    return refuse("the receipt is of another worker or operator than the lease");
  if (receipt.exitCode != result.exit_code())
    return refuse("the receipt has another exit code than the report");
  bool same =
      std::equal(receipt.outputs.begin(), receipt.outputs.end(), outputs.files.begin(), outputs.files.end(),
                 [&](const signing::ReceiptOutput& a, const jobs::OutputFile& b) {
                   return a.path == prefix + b.path && a.digest == b.digest;
                 });
  if (!same) return refuse("the receipt lists other outputs than the report");
  return {};
}

// Auditors and the signer read it, so it must be there, and be what it is called.
Status checkPolicy(storage::BlobStore& blobs, const Leasing& leasing, const index::RunRecord& run,
                   const Digest& policy) {
  const auto text = storage::getBlob(blobs, run.instance, policy, signing::kMaxSandboxPolicyBytes);
  const Status fits =
      text ? checkSandboxPolicy(policy, *text, run.kind, leasing.sandboxPolicies, leasing.clusterPolicies)
           : fail(text.error());
  if (!fits) return fail(fits.error().in("the receipt's sandbox policy"));
  return {};
}

// Each blob once, however many paths name it.
Status rehashOutputs(storage::BlobStore& store, const std::string& instance, const jobs::Outputs& outputs) {
  std::map<Digest, std::string> blobs;
  for (const jobs::OutputFile& file : outputs.files) blobs.emplace(file.digest, file.path);
  return rehashAll(store, instance, blobs);
}

Status requireFile(const jobs::Outputs& outputs, std::string_view name) {
  if (outputs.find(name)) return {};
  return refuse("the outputs lack " + std::string(name));
}

// Code for the emulated device, wherever the program has kernels for one: all of it may be the processor's.
Status checkEmulation(const Stores& stores, const index::RunRecord& run, const jobs::Outputs& outputs) {
  if (std::ranges::any_of(outputs.files, [](const jobs::OutputFile& file) {
        return file.path.starts_with(jobs::kEmulationPrefix);
      }))
    return {};
  if (const jobs::OutputFile* file = outputs.find(jobs::kEmulatedManifestFile)) {
    KILN_ASSIGN(const std::string text,
                storage::getBlob(stores.blobs, run.instance, file->digest, jobs::kMaxDocument));
    const auto json = parseCanonicalJson(text);
    const auto manifest = json ? Manifest::fromJson(*json) : fail(json.error());
    if (!manifest) return refuse(manifest.error().in(jobs::kEmulatedManifestFile).message);
    if (manifest->devices.empty()) return {};
  }
  return refuse("the outputs hold nothing for an emulated device");
}

// Whose IR it is, is compared when it is kept.
Status checkIr(const jobs::Outputs& outputs) {
  KILN_TRY(requireFile(outputs, jobs::kIrManifestFile));
  if (!jobs::irFiles(outputs).empty()) return {};
  return refuse("the outputs hold no IR");
}

Status checkTuning(const Stores& stores, const index::RunRecord& run, const jobs::Outputs& outputs) {
  KILN_TRY(takeTuningRecord(stores.blobs, run, outputs));
  KILN_ASSIGN(const TuningRecord record,
              readTuningRecord(stores.blobs, run.instance, outputs.find(kTuningRecordFile)->digest));
  KILN_ASSIGN(auto connection, stores.database.acquire());
  KILN_ASSIGN(const auto gpu, leasedGpu(*connection, run));
  return checkTunedDevice(record, gpu ? &*gpu : nullptr);
}

// What a successful run of this kind must have left.
Status checkContent(const Stores& stores, const index::RunRecord& run, const jobs::Outputs& outputs) {
  auto document = [&](const char* name) {
    return storage::getBlob(stores.blobs, run.instance, outputs.find(name)->digest, jobs::kMaxDocument);
  };
  if (run.kind == index::ActionKind::kReference) {
    KILN_TRY(requireFile(outputs, kFixtureList));
    KILN_ASSIGN(std::string list, document(kFixtureList));
    return jobs::checkReferenceOutputs(outputs, list);
  }
  if (run.kind == index::ActionKind::kFetch) {
    const auto fetched = source::fetchedModel(run.git ? run.git->path : "", jobs::pathsOf(outputs));
    return fetched ? Status() : fail(fetched.error());
  }
  if (run.kind == index::ActionKind::kCheck) {
    KILN_TRY(requireFile(outputs, kCheckReport));
    KILN_ASSIGN(std::string text, document(kCheckReport));
    return takeCheckReport(stores.database, run, text);
  }
  if (run.kind == index::ActionKind::kPlan) return takeKernelPlan(stores.blobs, run, outputs);
  if (run.kind == index::ActionKind::kTune) return checkTuning(stores, run, outputs);
  if (run.kind == index::ActionKind::kEmulate) return checkEmulation(stores, run, outputs);
  if (run.kind == index::ActionKind::kIr) return checkIr(outputs);
  KILN_TRY(requireFile(outputs, jobs::kEvidenceFile));
  KILN_TRY(requireFile(outputs, jobs::kManifestFile));
  KILN_ASSIGN(auto connection, stores.database.acquire());
  KILN_ASSIGN(auto job, index::loadJob(*connection, {run.instance, run.jobId}, index::Evidence::kWithout));
  if (!job) return fail(Code::kNotFound, "the run's job is gone");
  KILN_ASSIGN(CompileSpec submitted, jobs::readSpec(job->job.spec));
  const auto target = std::ranges::find(job->targets, run.target, &index::TargetRecord::target);
  if (target == job->targets.end()) return fail(Code::kInternal, "a compile for a target that nobody wants");
  KILN_ASSIGN(CompileSpec spec,
              jobs::compileSpec(submitted, job->sources, job->job.toolchainDigest, *target));
  KILN_ASSIGN(std::string evidence, document(jobs::kEvidenceFile));
  KILN_ASSIGN(std::string manifest, document(jobs::kManifestFile));
  KILN_ASSIGN(const Manifest made, jobs::checkCompileOutputs(spec, outputs, evidence, manifest));
  if (!spec.tuning) return jobs::checkTuningUse(made, nullptr);
  KILN_ASSIGN(const TuningEntries given, readTuningEntries(stores.blobs, run.instance, *spec.tuning));
  return jobs::checkTuningUse(made, &given);
}

// The result as it is kept: outputs, exit code and the end of the log. Of a success what came with the report
// is enough; nobody asks why it failed.
Result<ActionResult> keptResult(storage::BlobStore& blobs, const std::string& instance,
                                const ActionResult& result) {
  const bool failed = result.exit_code() != 0;
  const std::size_t most = failed ? kMaxOfALog : kMaxOfASuccess;
  ActionResult kept;
  *kept.mutable_output_files() = result.output_files();
  kept.set_exit_code(result.exit_code());
  std::string log = result.stderr_raw();
  if (failed && log.empty() && result.has_stderr_digest()) {
    KILN_ASSIGN(Digest digest, fromProto(result.stderr_digest()));
    KILN_ASSIGN(log, readTail(blobs, instance, digest, most));
  }
  if (log.size() > most) log.erase(0, log.size() - most);
  kept.set_stderr_raw(log);
  return kept;
}

// What the report names, as its receipt must list it.
Result<jobs::Outputs> namedBy(const index::RunRecord& run, const ActionResult& result) {
  if (run.kind != index::ActionKind::kExecute) return jobs::readOutputs(result);
  KILN_ASSIGN(jobs::ExecutedOutputs executed, jobs::readExecuted(result));
  return std::move(executed.named);
}

// The result of one of the farm's own actions as it is kept, once its bytes are what they must be.
Result<ActionResult> takeBuilt(const Stores& stores, const index::RunRecord& run,
                               const jobs::Outputs& outputs, const ActionResult& result) {
  KILN_TRY(rehashOutputs(stores.blobs, run.instance, outputs));
  if (result.exit_code() == 0) KILN_TRY(checkContent(stores, run, outputs));
  return keptResult(stores.blobs, run.instance, result);
}

// Errors of the farm itself, not of the report: the same report may be fine later.
bool isOurs(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kResourceExhausted;
}

// By the lease's end, which is further away than the time limit by a fixed time. The release before set none.
std::optional<TimePoint> leasedAt(const index::RunRecord& run, const Leasing& leasing) {
  const Duration whole = std::chrono::seconds(run.timeLimitSeconds) + leasing.queue.settings().overhead;
  return run.deadline ? std::optional(*run.deadline - whole) : std::nullopt;
}

}  // namespace

Result<index::ResultRecord> Completion::check(const index::RunRecord& run, const v1::Finished& report,
                                              const signing::Certificate& worker) {
  TimePoint now = stores_.clock.now();
  KILN_ASSIGN(signing::Receipt receipt,
              signing::verifyReceipt(report.receipt_json(), worker, leasing_.workerAuthority, now));
  KILN_ASSIGN(jobs::Outputs outputs, namedBy(run, report.result()));
  KILN_TRY(checkReceipt(receipt, run, report.result(), outputs));
  KILN_TRY(checkPolicy(stores_.blobs, leasing_, run, receipt.sandboxPolicy));
  index::ResultRecord record;
  {
    KILN_ASSIGN(auto connection, stores_.database.acquire());
    KILN_ASSIGN(record.leased, leasing_.queue.leasedAt(*connection, run));
  }
  KILN_ASSIGN(const ActionResult kept,
              run.kind == index::ActionKind::kExecute
                  ? takeExecuted(stores_.blobs, run, {record.leased, now}, report.result())
                  : takeBuilt(stores_, run, outputs, report.result()));
  record.instance = run.instance;
  record.runId = run.id;
  record.epoch = run.epoch;
  record.jobId = run.jobId;
  record.action = run.action;
  record.worker = run.worker;
  record.operatorName = run.operatorName;
  record.exitCode = report.result().exit_code();
  record.outputs = jobs::outputsDigest(outputs);
  record.result = kept.SerializeAsString();
  record.receipt = report.receipt_json();
  record.certificate = worker.pem();
  record.recorded = now;
  return record;
}

Status Completion::settleCancelled(const queue::LeaseKey& key, const v1::Finished& report,
                                   const signing::Certificate& worker) {
  std::optional<index::RunRecord> run;
  {
    KILN_ASSIGN(auto connection, stores_.database.acquire());
    KILN_ASSIGN(run, leasing_.queue.findCancelled(*connection, key));
    if (!run || run->kind != index::ActionKind::kTune || report.error_code() != 0) return {};
    KILN_ASSIGN(const bool isFirst,
                leasing_.queue.isFirstOfCancelled(*connection, *run, digestOf(report.receipt_json())));
    if (!isFirst) return {};
  }
  auto good = check(*run, report, worker);
  Status kept = good && good->exitCode == 0 ? keepTuningRecord(judging_, run->instance, *good) : Status();
  if (!good) kept = fail(good.error());
  if (!kept && isOurs(kept.error().code)) return fail(kept.error());
  if (!kept)
    logWarning("what a cancelled tune measured is refused",
               {{"job", run->jobId}, {"worker", run->worker}, {"error", kept.error().message}});
  return {};
}

Result<std::vector<index::JobKey>> Completion::settle(const queue::LeaseKey& key, const v1::Finished& report,
                                                      const signing::Certificate& worker) {
  std::optional<index::RunRecord> run;
  std::optional<tracing::SpanContext> job;
  {
    KILN_ASSIGN(auto connection, stores_.database.acquire());
    KILN_ASSIGN(run, leasing_.queue.find(*connection, key));
    // Rehashing may take its time. What is lost with the power is a lease that ends early.
    if (run)
      KILN_TRY(connection->transact([&](postgres::Connection& c) -> Result<bool> {
        KILN_TRY(postgres::commitSoon(c));
        return leasing_.queue.keepForResult(c, key);
      }));
    if (run) job = spanOf(observers_.tracing, *connection, {run->instance, run->jobId});
  }
  if (!run) {
    KILN_TRY(settleCancelled(key, report, worker));
    return std::vector<index::JobKey>();
  }
  Error failure;
  bool retryable = true;
  std::optional<index::ResultRecord> good;
  if (report.error_code() != 0) {
    bool known = report.error_code() > 0 && report.error_code() <= static_cast<int>(Code::kUnauthenticated);
    failure = {known ? static_cast<Code>(report.error_code()) : Code::kUnknown,
               printable(report.error_message(), 4096),
               {}};
    retryable = report.retryable();
    // What the worker was kept waiting for is not the time limit of a client's action.
    if (run->kind == index::ActionKind::kExecute && retryable && failure.code == Code::kDeadlineExceeded)
      failure.code = Code::kUnavailable;
  } else {
    tracing::Scope scope(observers_.tracing.sink, spanOf(job, *run), "result", stores_.clock);
    auto checked = check(*run, report, worker);
    if (!checked) scope.failed(checked.error().message);
    if (checked) {
      good = std::move(*checked);
    } else {
      if (isOurs(checked.error().code)) return fail(checked.error());
      failure = checked.error().in("result refused");
      observers_.metrics.resultRefused();
    }
  }
  const bool fleetKnown = stores_.clock.now() >= leasing_.graceUntil;
  std::vector<index::JobKey> concerned;
  KILN_TRY(stores_.database.transact([&](Connection& c) -> Status {
    concerned.clear();
    KILN_ASSIGN(const bool settled, good ? leasing_.queue.complete(c, key, *good)
                                         : leasing_.queue.reject(c, key, failure, retryable, fleetKnown));
    if (!settled) return {};
    KILN_ASSIGN(concerned, leasing_.queue.jobsWaitingFor(c, *run));
    concerned.push_back({run->instance, run->jobId});
    return {};
  }));
  if (concerned.empty()) return concerned;
  if (const auto leased = leasedAt(*run, leasing_)) {
    const TimePoint now = stores_.clock.now();
    observers_.metrics.leaseEnded(run->kind, good.has_value(), now - *leased);
    tellLeased(observers_.tracing, job, *run, *leased, now, failure.message);
  }
  const std::string action = run->action.hex(), trace = job ? tracing::hexOf(job->trace) : "";
  if (good) {
    observers_.metrics.resultAccepted();
    logInfo("result stored", {{"job", run->jobId},
                              {"action", action},
                              {"trace", trace},
                              {"worker", key.worker.name},
                              {"exit", std::to_string(good->exitCode)}});
    observers_.reached(kPointResultStored);
  } else {
    logWarning("attempt failed", {{"job", run->jobId},
                                  {"action", action},
                                  {"trace", trace},
                                  {"worker", key.worker.name},
                                  {"error", failure.message}});
  }
  return concerned;
}

}  // namespace kiln::service
