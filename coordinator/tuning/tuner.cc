#include "coordinator/tuning/tuner.h"

#include <algorithm>
#include <map>
#include <span>

#include "coordinator/farm/blob_io.h"
#include "coordinator/farm/log.h"
#include "coordinator/jobs/evidence.h"
#include "coordinator/jobs/submission.h"
#include "coordinator/planning/planner.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/tuning/action_input.h"
#include "coordinator/tuning/tuning_documents.h"
#include "manifest/statement/tune_statement.h"
#include "signing/receipt/receipt.h"
#include "storage/action/compiler_action.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/index/jobs/result_repository.h"
#include "storage/index/tuning/tuning_repository.h"

namespace kiln::service {
namespace {

using postgres::Connection;

const index::TargetRecord& targetAt(const index::JobSnapshot& snapshot, int target) {
  return snapshot.targets.at(static_cast<std::size_t>(target));
}

Result<CompileSpec> specOf(const index::JobSnapshot& snapshot, const index::TargetRecord& target) {
  KILN_ASSIGN(const CompileSpec submitted, jobs::readSpec(snapshot.job.spec));
  return jobs::compileSpec(submitted, snapshot.sources, snapshot.job.toolchainDigest, target);
}

// Whether a row says what the plan's kernel can be: another toolchain's template may have had other knobs.
bool fits(const index::TuningEntryRow& row, const KernelPlan& plan) {
  if (row.entry.empty()) return true;
  const auto json = parseStrictJson(row.entry);
  if (!json) return false;
  const auto entry = entryFromRow(row.signature, *json);
  return entry && checkEntries({plan.target, {*entry}}, plan).has_value();
}

// Whether nobody has recalled the record or what its worker did.
Result<bool> stands(const RecallSource& source, const signing::Recalls* recalls,
                    const index::TuningRecordRow& record) {
  const Status content = checkNotRecalled(source, std::span(&record.record, 1));
  if (!content && content.error().code != Code::kPermissionDenied) return fail(content.error());
  const signing::StatementPlace place{record.payload, record.recorded, nullptr};
  return content && !(recalls && recalls->touchesWorker(place, record.worker, record.operatorName));
}

// What is known of the plan's kernels, by signature: of each the latest that was not recalled and fits.
Result<std::map<std::string, index::TuningEntryRow>> knownOf(const Planning& planning,
                                                             const std::string& instance,
                                                             const KernelPlan& plan) {
  std::vector<std::string> signatures;
  for (const PlannedKernel& kernel : plan.kernels) signatures.push_back(kernel.signature);
  KILN_ASSIGN(const auto recalls, recallsInForce(planning.recalls));
  KILN_ASSIGN(auto connection, planning.stores.database.acquire());
  KILN_ASSIGN(auto found, index::findTuningEntries(*connection, instance, plan.target, signatures));
  std::map<Digest, bool> good;
  std::map<std::string, index::TuningEntryRow> known;
  for (index::KnownKernel& kernel : found) {
    const auto [at, isNew] = good.try_emplace(kernel.record.record, false);
    if (isNew) {
      KILN_ASSIGN(at->second, stands(planning.recalls, recalls.get(), kernel.record));
    }
    if (at->second && fits(kernel.row, plan)) known.emplace(kernel.row.signature, std::move(kernel.row));
  }
  return known;
}

// What the compile takes by itself, without entries.
TuningEntries cataloguedOf(const KernelPlan& plan) {
  TuningEntries out{plan.target, {}};
  for (const PlannedKernel& kernel : plan.kernels)
    if (kernel.catalogue) out.entries.push_back({kernel.signature, kernel.templateName, *kernel.catalogue});
  return out;
}

// The entries that a compile of this plan gets: what is known of a kernel, else what the toolchain's
// catalogue has. Nothing where that is what the compile takes by itself.
Result<std::optional<TuningEntries>> entriesFor(const Planning& planning, const std::string& instance,
                                                const KernelPlan& plan) {
  KILN_ASSIGN(const auto known, knownOf(planning, instance, plan));
  TuningEntries out{plan.target, {}};
  const TuningEntries catalogued = cataloguedOf(plan);
  for (const PlannedKernel& kernel : plan.kernels) {
    const auto row = known.find(kernel.signature);
    if (row == known.end()) {
      if (const TuningEntry* entry = catalogued.find(kernel.signature)) out.entries.push_back(*entry);
      continue;
    }
    if (row->second.entry.empty()) continue;
    KILN_ASSIGN(const Json json, parseStrictJson(row->second.entry));
    KILN_ASSIGN(TuningEntry entry, entryFromRow(kernel.signature, json));
    if (entry.schedule != kernel.schedule) out.entries.push_back(std::move(entry));
  }
  if (out == catalogued) return std::optional<TuningEntries>();
  KILN_TRY(checkEntries(out, plan));
  return out;
}

TuneStatement statementOf(const std::string& builderId, const TuningRecord& record,
                          const index::ResultRecord& result) {
  TuneStatement tune;
  tune.builderId = builderId;
  tune.invocationId = result.jobId;
  tune.action = result.action;
  tune.worker = result.worker;
  tune.operatorName = result.operatorName;
  tune.startedOn = std::min(result.leased, result.recorded);
  tune.finishedOn = result.recorded;
  tune.target = record.target;
  tune.deviceKind = record.device.kind;
  tune.deviceName = record.device.name;
  tune.kernels = record.kernels.size();
  tune.faster = fasterKernels(record);
  return tune;
}

}  // namespace

Status keepTuningRecord(const Judging& judging, const std::string& instance,
                        const index::ResultRecord& result) {
  const Stores& stores = judging.stores;
  KILN_ASSIGN(const jobs::Outputs outputs, jobs::readOutputs(result));
  const jobs::OutputFile* file = outputs.find(kTuningRecordFile);
  if (!file)
    return fail(Code::kDataLoss, std::string(kTuningRecordFile) + " is not among the tuner's outputs");
  {
    KILN_ASSIGN(auto connection, stores.database.acquire());
    KILN_ASSIGN(const auto known, index::findTuningRecord(*connection, instance, file->digest));
    if (known) return {};  // a report that came twice, or the same figures again
  }
  KILN_ASSIGN(const TuningRecord record, readTuningRecord(stores.blobs, instance, file->digest));
  TuneStatement tune = statementOf(judging.signatory.builder.id, record, result);
  KILN_ASSIGN(tune.plan, findInput(stores.blobs, instance, result.action, kPlanInput));
  KILN_ASSIGN(const signing::Certificate certificate, signing::Certificate::fromPem(result.certificate));
  KILN_ASSIGN(const std::string receipt, signing::receiptDocument(result.receipt, certificate));
  tune.receipt = digestOf(receipt);
  KILN_ASSIGN(const std::string statement, tuneStatement(file->digest, tune));
  KILN_ASSIGN(Maker maker, makerOf(result));
  KILN_TRY(checkNotRecalled(judging.recalls, std::span(&file->digest, 1)));
  KILN_TRY(checkCounts(judging.recalls, {.place = {digestOf(statement), tune.finishedOn, nullptr},
                                         .makers = {std::move(maker)}}));
  KILN_TRY(storage::putBlob(stores.blobs, instance, tune.receipt, asBytes(receipt)));
  auto bundle = judging.signatory.signer.sign({.instance = instance,
                                               .statement = statement,
                                               .subjectSize = file->digest.size,
                                               .receipts = {receipt}});
  if (!bundle) return fail(bundle.error().in("signer"));
  const index::TuningRecordRow row{instance,          file->digest,  record.target,       digestOf(statement),
                                   digestOf(*bundle), result.worker, result.operatorName, result.jobId,
                                   result.recorded};
  KILN_TRY(storage::putBlob(stores.blobs, instance, row.bundle, asBytes(*bundle)));
  KILN_ASSIGN(const auto decided, decidedBy(record));
  std::vector<index::TuningEntryRow> entries;
  for (const DecidedKernel& kernel : decided) entries.push_back({kernel.signature, kernel.entry});
  KILN_TRY(stores.database.transact([&](Connection& c) -> Status {
    KILN_TRY(index::insertTuningRecord(c, row));
    return index::putTuningEntries(c, row, entries);
  }));
  logInfo("tuning record kept", {{"instance", instance},
                                 {"job", result.jobId},
                                 {"record", row.record.text()},
                                 {"worker", result.worker},
                                 {"kernels", std::to_string(tune.kernels)},
                                 {"faster", std::to_string(tune.faster)}});
  return {};
}

Status Tuner::plan(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                   const jobs::PlanTune& step) {
  const index::JobKey& key = snapshot.job.key;
  const index::TargetRecord& target = targetAt(snapshot, step.target);
  KILN_ASSIGN(const jobs::Outputs outputs, jobs::readOutputs(step.plan));
  KILN_ASSIGN(KernelPlan wanted, readKernelPlan(planning_.stores.blobs, key.instance, outputs));
  if (!delivery.noCache) {
    KILN_ASSIGN(const auto known, knownOf(planning_, key.instance, wanted));
    std::erase_if(wanted.kernels,
                  [&](const PlannedKernel& kernel) { return known.contains(kernel.signature); });
  }
  if (wanted.kernels.empty()) return compile(snapshot, delivery, {step.target, step.plan, {}});
  KILN_ASSIGN(const std::string text, toCanonicalJson(wanted.toJson()));
  std::vector<ModelFile> files{{kKernelPlanFile, digestOf(text)}};
  for (const PlannedKernel& kernel : wanted.kernels) {
    const jobs::OutputFile* module = outputs.find(moduleFile(kernel.signature));
    if (!module) return fail(Code::kDataLoss, "the plan's outputs lack " + moduleFile(kernel.signature));
    files.push_back({module->path, module->digest});
  }
  KILN_TRY(storage::putBlob(planning_.stores.blobs, key.instance, files.front().digest, asBytes(text)));
  KILN_ASSIGN(const CompileSpec spec, specOf(snapshot, target));
  KILN_ASSIGN(const storage::BuiltAction built,
              storage::buildTuneAction(spec, files, delivery.tuning->budgetSeconds));
  KILN_TRY(storage::uploadMissing(planning_.stores.blobs, key.instance, built.blobs));
  return appendActions(planning_.stores.database, snapshot,
                       {{index::ActionKind::kTune, target.target, built.action, {}}});
}

Status Tuner::compile(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                      const jobs::PlanCompile& step) {
  const index::JobKey& key = snapshot.job.key;
  if (step.tuned) KILN_TRY(keepTuningRecord(planning_, key.instance, *step.tuned));
  index::TargetRecord target = targetAt(snapshot, step.target);
  KILN_ASSIGN(const jobs::Outputs outputs, jobs::readOutputs(step.plan));
  KILN_ASSIGN(const KernelPlan planned, readKernelPlan(planning_.stores.blobs, key.instance, outputs));
  KILN_ASSIGN(const auto entries, entriesFor(planning_, key.instance, planned));
  if (entries) {
    KILN_ASSIGN(const std::string text, toCanonicalJson(entries->toJson()));
    target.tuning = digestOf(text);
    KILN_TRY(storage::putBlob(planning_.stores.blobs, key.instance, *target.tuning, asBytes(text)));
  }
  KILN_ASSIGN(const CompileSpec spec, specOf(snapshot, target));
  Plan made;
  KILN_TRY(planCompile(spec, delivery, made));
  return storePlan(planning_, snapshot, made, [&](Connection& c) -> Status {
    return target.tuning ? index::setTargetTuning(c, key, step.target, *target.tuning) : Status();
  });
}

}  // namespace kiln::service
