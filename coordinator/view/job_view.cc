#include "coordinator/view/job_view.h"

#include <algorithm>

#include "storage/tree/digest_proto.h"

namespace kiln::service {
namespace {

using index::RunRecord;
using index::RunState;

v1::JobState stateOf(const index::JobSnapshot& snapshot) {
  if (!index::isOpen(snapshot.job.state)) return static_cast<v1::JobState>(snapshot.job.state);
  auto any = [&](auto test) { return std::any_of(snapshot.runs.begin(), snapshot.runs.end(), test); };
  bool live = any([](const RunRecord& run) { return index::isLive(run.state); });
  bool started = any(
      [](const RunRecord& run) { return run.state == RunState::kLeased || run.state == RunState::kDone; });
  if (!live && !snapshot.runs.empty()) return v1::JOB_PUBLISHING;
  return started ? v1::JOB_RUNNING : v1::JOB_QUEUED;
}

// The builder that has come furthest stands for the action.
const RunRecord* furthest(const index::JobSnapshot& snapshot, const index::ActionRecord& action) {
  auto rank = [](const RunRecord& run) {
    switch (run.state) {
      case RunState::kFailed:
        return 4;
      case RunState::kLeased:
        return 3;
      case RunState::kQueued:
        return 2;
      case RunState::kDone:
        return 1;
      default:
        return 0;
    }
  };
  const RunRecord* best = nullptr;
  for (const RunRecord& run : snapshot.runs)
    if (run.action == action.action && (!best || rank(run) > rank(*best))) best = &run;
  return best;
}

const char* stateName(RunState state) {
  switch (state) {
    case RunState::kQueued:
      return "queued";
    case RunState::kLeased:
      return "running";
    case RunState::kDone:
      return "done";
    case RunState::kFailed:
      return "failed";
    default:
      return "cancelled";
  }
}

// A run is done once its builder has answered; the action has failed where no tool did what was asked.
// Without the builders at hand it is known by its runs whose tool it was.
bool hasFailed(const index::JobSnapshot& snapshot, const RunRecord& furthestRun,
               const v1::JobAction& action) {
  if (furthestRun.state != RunState::kDone) return false;
  if (!action.builders().empty())
    return std::ranges::none_of(action.builders(), [](const v1::BuilderResult& builder) {
      return builder.exit_code() == 0 && !builder.disputed();
    });
  return std::ranges::none_of(snapshot.runs, [&](const RunRecord& run) {
    return run.action == furthestRun.action && run.state == RunState::kDone &&
           !snapshot.failedRuns.contains(run.id);
  });
}

// Of a run that waits while others of its action have ended: that a further builder is wanted; else "".
std::string whatElseIsWanted(const index::JobSnapshot& snapshot, const RunRecord& waiting) {
  const auto ended = std::ranges::count_if(snapshot.runs, [&](const RunRecord& run) {
    return run.action == waiting.action && run.state == RunState::kDone;
  });
  return ended == 0 ? "" : "a further builder is wanted beside " + std::to_string(ended);
}

// Each worker that has the action now, who took it first before the others; and how often it has ended.
void addAttempts(const index::JobSnapshot& snapshot, const index::ActionRecord& action, v1::JobAction& out) {
  std::vector<std::pair<TimePoint, const RunRecord*>> running;
  int ended = 0;
  for (const RunRecord& run : snapshot.runs) {
    if (run.action != action.action) continue;
    ended += run.attempts - (run.state == RunState::kLeased ? 1 : 0);
    if (const auto since = snapshot.leasedSince.find(run.id); since != snapshot.leasedSince.end())
      running.emplace_back(since->second, &run);
  }
  out.set_ended_attempts(ended);
  std::ranges::sort(running);  // of the same time, as the snapshot has them
  for (const auto& [since, run] : running) {
    v1::JobAction::Run& added = *out.add_running();
    added.set_worker(run->worker);
    added.set_stage(run->stage);
    added.set_attempt(run->attempts);
    setTimestamp(added.mutable_leased(), since);
  }
}

void setAction(const index::JobSnapshot& snapshot, const index::ActionRecord& action, v1::JobAction& out) {
  out.set_kind(static_cast<v1::ActionKind>(action.kind));
  out.set_target(action.target);
  *out.mutable_action() = kiln::toProto(action.action);
  for (const index::ResultRecord& result : snapshot.results)
    if (result.action == action.action) *out.add_builders() = toProto(result);
  const RunRecord* run = furthest(snapshot, action);
  if (!run) {
    out.set_state("cached");
    return;
  }
  out.set_state(hasFailed(snapshot, *run, out) ? stateName(RunState::kFailed) : stateName(run->state));
  out.set_stage(run->stage);
  if (run->state == RunState::kQueued) out.set_stage(whatElseIsWanted(snapshot, *run));
  out.set_worker(run->worker);
  out.set_attempt(run->attempts);
  addAttempts(snapshot, action, out);
}

}  // namespace

void setTimestamp(google::protobuf::Timestamp* out, TimePoint time) {
  auto since = time.time_since_epoch().count();
  out->set_seconds(since / 1'000'000);
  out->set_nanos(static_cast<std::int32_t>(since % 1'000'000 * 1000));
}

v1::BuilderResult toProto(const index::ResultRecord& result) {
  v1::BuilderResult out;
  out.set_worker(result.worker);
  out.set_operator_(result.operatorName);
  out.set_exit_code(result.exitCode);
  out.set_outputs(result.outputs.text());
  out.set_disputed(result.disputed);
  out.set_job(result.jobId);
  return out;
}

v1::Job toProto(const index::JobSnapshot& snapshot) {
  const index::JobRecord& job = snapshot.job;
  v1::Job out;
  out.set_id(job.key.id);
  out.set_instance(job.key.instance);
  out.set_state(stateOf(snapshot));
  setTimestamp(out.mutable_submitted(), job.submitted);
  if (job.ended) setTimestamp(out.mutable_ended(), *job.ended);
  out.set_toolchain_label(job.toolchainLabel);
  *out.mutable_toolchain_digest() = kiln::toProto(job.toolchainDigest);
  for (const index::ActionRecord& action : snapshot.actions) setAction(snapshot, action, *out.add_actions());
  for (const index::TargetRecord& target : snapshot.targets) {
    v1::JobArtifact* artifact = out.add_artifacts();
    artifact->set_target(target.target);
    if (target.artifact) artifact->set_digest(target.artifact->text());
    artifact->set_cached(target.cached);
    if (target.check != index::CheckOutcome::kNone)
      artifact->set_check(target.check == index::CheckOutcome::kPassed ? "passed" : "failed");
    for (const std::string& builder : target.builders) artifact->add_builders(builder);
  }
  if (job.error) {
    v1::JobError* error = out.mutable_error();
    error->set_code(job.error->code);
    error->set_message(job.error->message);
    error->set_exit_code(job.error->exitCode);
    error->set_details_json(job.error->details);
  }
  out.set_revision(job.revision);
  out.set_idempotency_key(job.idempotencyKey);
  out.set_model_name(job.modelName);
  return out;
}

v1::Artifact toProto(const index::ArtifactRecord& artifact) {
  v1::Artifact out;
  out.set_digest(artifact.digest.text());
  *out.mutable_manifest() = kiln::toProto(artifact.digest);
  for (const index::BundleRecord& bundle : artifact.bundles)
    *out.add_bundles() = kiln::toProto(bundle.bundle);
  if (artifact.fixtures) *out.mutable_fixtures() = kiln::toProto(*artifact.fixtures);
  out.set_target(artifact.target);
  out.set_toolchain_label(artifact.toolchainLabel);
  setTimestamp(out.mutable_published(), artifact.published);
  for (const std::string& job : artifact.jobs) out.add_jobs(job);
  for (const index::BuilderRecord& builder : artifact.builders) out.add_builders(builder.worker);
  for (const std::string& model : artifact.models) out.add_models(model);
  return out;
}

v1::Toolchain toProto(const index::ToolchainRecord& toolchain) {
  v1::Toolchain out;
  out.set_label(toolchain.label);
  *out.mutable_toolchain_digest() = kiln::toProto(toolchain.toolchainDigest);
  out.set_is_default(toolchain.isDefault);
  out.set_description_json(toolchain.description);
  setTimestamp(out.mutable_added(), toolchain.added);
  if (toolchain.lock) *out.mutable_lock() = kiln::toProto(*toolchain.lock);
  if (toolchain.admission) *out.mutable_admission() = kiln::toProto(*toolchain.admission);
  return out;
}

}  // namespace kiln::service
