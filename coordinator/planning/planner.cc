#include "coordinator/planning/planner.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "coordinator/jobs/action_builder.h"
#include "coordinator/jobs/estimate.h"
#include "coordinator/jobs/evidence.h"
#include "coordinator/planning/proof.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/index/jobs/result_repository.h"

namespace kiln::service {
namespace {

// A tuner ends by itself when its budget is spent; one that is this much over it hangs.
constexpr int kTuneMarginSeconds = 120;

// The builders of a published artifact that stands for what is wanted as it is; nothing if it does not.
Result<std::optional<std::vector<std::string>>> reusableBuilders(const Planning& planning,
                                                                 postgres::Connection& connection,
                                                                 index::ArtifactRecord artifact,
                                                                 const WantedProof& wanted) {
  if (!artifact.fixtures) return std::nullopt;
  KILN_TRY(index::loadEvidence(connection, artifact));
  std::vector<Digest> needed{artifact.digest, artifact.config, *artifact.fixtures};
  for (const index::FileRecord& file : artifact.files) needed.push_back(file.digest);
  for (const index::BundleRecord& record : artifact.bundles) needed.push_back(record.bundle);
  KILN_ASSIGN(auto missing, planning.stores.blobs.findMissing(artifact.instance, needed));
  if (!missing.empty()) return std::nullopt;
  return provenBuilders(planning, artifact, wanted);
}

Status planAction(index::ActionKind kind, const std::string& target, const CompileSpec& spec, Plan& plan) {
  KILN_ASSIGN(jobs::BuiltAction built, jobs::buildAction(kind, spec));
  plan.actions.push_back({kind, target, built.action, {}});
  std::move(built.blobs.begin(), built.blobs.end(), std::back_inserter(plan.blobs));
  return {};
}

}  // namespace

Status planCompile(const CompileSpec& spec, const DeliverySpec& delivery, Plan& plan) {
  KILN_TRY(planAction(index::ActionKind::kCompile, spec.target, spec, plan));
  if (jobs::checkedEmulated(delivery, spec.target))
    KILN_TRY(planAction(index::ActionKind::kEmulate, spec.target, spec, plan));
  if (delivery.keepIr) KILN_TRY(planAction(index::ActionKind::kIr, spec.target, spec, plan));
  return {};
}

Result<Plan> planActions(const index::JobSnapshot& snapshot, const CompileSpec& submitted,
                         const DeliverySpec& delivery) {
  Plan plan;
  for (const index::TargetRecord& target : snapshot.targets) {
    KILN_ASSIGN(CompileSpec spec,
                jobs::compileSpec(submitted, snapshot.sources, snapshot.job.toolchainDigest, target));
    if (plan.actions.empty())
      KILN_TRY(planAction(index::ActionKind::kReference, "", jobs::referenceSpec(spec), plan));
    if (delivery.tuning)
      KILN_TRY(planAction(index::ActionKind::kPlan, target.target, spec, plan));
    else
      KILN_TRY(planCompile(spec, delivery, plan));
  }
  return plan;
}

Result<bool> outputsArePresent(storage::BlobStore& blobs, const std::string& instance,
                               const std::vector<index::ResultRecord>& results) {
  std::vector<Digest> needed;
  for (const index::ResultRecord& result : results) {
    KILN_ASSIGN(jobs::Outputs outputs, jobs::readOutputs(result));
    for (const jobs::OutputFile& file : outputs.files) needed.push_back(file.digest);
  }
  KILN_ASSIGN(auto missing, blobs.findMissing(instance, needed));
  return missing.empty();
}

Status reuseArtifacts(const Planning& planning, postgres::Connection& connection,
                      const index::ToolchainRecord& toolchain, const jobs::Submission& submission,
                      index::JobSnapshot& snapshot) {
  std::vector<Digest> actions;
  for (const index::ActionRecord& action : snapshot.actions) actions.push_back(action.action);
  KILN_ASSIGN(auto artifacts, index::findByActions(connection, snapshot.job.key.instance, actions));
  for (const index::ActionRecord& action : snapshot.actions) {
    auto found = artifacts.find(action.action);
    if (found == artifacts.end()) continue;
    for (index::TargetRecord& target : snapshot.targets) {
      if (target.target != action.target) continue;
      KILN_ASSIGN(const CompileSpec spec,
                  jobs::compileSpec(submission.spec, snapshot.sources, snapshot.job.toolchainDigest, target));
      const auto materials = jobs::materialsOf(spec, snapshot, toolchain);
      KILN_ASSIGN(auto builders, reusableBuilders(planning, connection, found->second,
                                                  {spec, materials, submission.delivery}));
      if (!builders) continue;
      target.artifact = found->second.digest;
      target.cached = true;
      target.builders = std::move(*builders);
    }
  }
  return {};
}

Status reuseResults(const Planning& planning, postgres::Connection& connection,
                    index::JobSnapshot& snapshot) {
  const std::string& instance = snapshot.job.key.instance;
  std::vector<Digest> actions;
  for (const index::ActionRecord& action : snapshot.actions) actions.push_back(action.action);
  KILN_ASSIGN(snapshot.results, index::reusableResults(connection, instance, actions));
  dropUnproven(planning, snapshot.job.key.id, snapshot.results);
  KILN_ASSIGN(bool present, outputsArePresent(planning.stores.blobs, instance, snapshot.results));
  if (present) return {};
  snapshot.job.reuse = false;
  snapshot.results.clear();
  return {};
}

Status appendActions(
    postgres::Pool& database, const index::JobSnapshot& snapshot,
    const std::vector<index::ActionRecord>& actions,
    const std::function<Status(postgres::Connection&, const index::JobSnapshot& now)>& before) {
  const index::JobKey& key = snapshot.job.key;
  return database.transact([&](postgres::Connection& c) -> Status {
    KILN_ASSIGN(auto now, index::loadJob(c, key, index::Evidence::kWithout, index::Lock::kUpdate));
    if (!now || now->actions.size() != snapshot.actions.size()) return {};  // another coordinator did it
    if (before) KILN_TRY(before(c, *now));
    KILN_TRY(index::addActions(c, key, snapshot.actions.size(), actions));
    return index::touchJob(c, key);
  });
}

Status storePlan(const Planning& planning, const index::JobSnapshot& snapshot, const Plan& plan,
                 const std::function<Status(postgres::Connection&)>& more) {
  const index::JobKey& key = snapshot.job.key;
  KILN_TRY(storage::uploadMissing(planning.stores.blobs, key.instance, plan.blobs));
  std::vector<Digest> actions;
  for (const index::ActionRecord& action : plan.actions) actions.push_back(action.action);
  return appendActions(planning.stores.database, snapshot, plan.actions,
                       [&](auto& c, const index::JobSnapshot& now) -> Status {
                         if (now.job.reuse) {
                           KILN_ASSIGN(auto earlier, index::reusableResults(c, key.instance, actions));
                           dropUnproven(planning, key.id, earlier);
                           KILN_ASSIGN(bool present,
                                       outputsArePresent(planning.stores.blobs, key.instance, earlier));
                           if (!present) KILN_TRY(index::stopReuse(c, key));
                         }
                         return more(c);
                       });
}

std::vector<index::RunRecord> makeRuns(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                                       const std::vector<jobs::NewRun>& wanted, TimePoint now) {
  std::vector<index::RunRecord> runs;
  for (const jobs::NewRun& one : wanted) {
    index::RunRecord run;
    run.instance = snapshot.job.key.instance;
    run.id = newId(now);
    run.jobId = snapshot.job.key.id;
    run.action = one.action.action;
    run.kind = one.action.kind;
    run.target = one.action.target;
    run.toolchainDigest = snapshot.job.toolchainDigest;
    if (one.action.source) run.git = snapshot.sources.at(static_cast<std::size_t>(*one.action.source)).git;
    run.priority = delivery.priority;
    run.operatorsWanted = one.action.kind == index::ActionKind::kCompile ? delivery.operators : 1;
    run.excludedWorkers = one.excludedWorkers;
    if (delivery.rebuild && run.kind == index::ActionKind::kCompile)
      run.excludedWorkers.insert(run.excludedWorkers.end(), delivery.rebuild->builders.begin(),
                                 delivery.rebuild->builders.end());
    run.countedOperators = one.countedOperators;
    run.emulated = index::wantsDevice(run.kind) && jobs::checkedEmulated(delivery, one.action.target);
    run.timeLimitSeconds = static_cast<int>(delivery.timeLimitSeconds);
    if (run.kind == index::ActionKind::kTune)
      run.timeLimitSeconds = std::min(run.timeLimitSeconds,
                                      static_cast<int>(delivery.tuning->budgetSeconds) + kTuneMarginSeconds);
    run.subject = jobs::subjectOf(snapshot, one.action);
    run.jobDeadline = snapshot.job.deadline;
    run.queued = now;
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string newId(TimePoint now) {
  std::array<std::uint8_t, 16> random{};
  RAND_bytes(random.data(), random.size());
  auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  return fmt::format("{:012x}{}", milliseconds, toHex(random));
}

}  // namespace kiln::service
