#include "coordinator/jobs/next_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/jobs/evidence.h"
#include "coordinator/jobs/execution_step.h"
#include "manifest/base/exit_code.h"
#include "manifest/json/json.h"
#include "manifest/spec/target_device.h"

namespace kiln::jobs {
namespace {

using index::ActionKind;
using index::ActionRecord;
using index::CheckOutcome;
using index::JobSnapshot;
using index::JobState;
using index::ResultRecord;
using index::RunRecord;
using index::RunState;

// How far one action has come.
struct Progress {
  std::vector<ResultRecord> agreed;   // one per worker, all equal
  std::vector<ResultRecord> dissent;  // one per worker: outvoted
  std::vector<std::string> voted;     // builderOf() both
  std::size_t live = 0;
  std::size_t missing = 0;  // builders still to be queued
  bool complete = false;
};

std::string_view toolOf(ActionKind kind) {
  switch (kind) {
    case ActionKind::kFetch:
      return "the source fetcher";
    case ActionKind::kReference:
      return "the reference evaluation";
    case ActionKind::kCheck:
      return "the check";
    case ActionKind::kEmulate:
      return "the compiler for the emulated device";
    case ActionKind::kPlan:
      return "the planning of kernels";
    case ActionKind::kTune:
      return "the tuner";
    case ActionKind::kIr:
      return "the compiler for the IR";
    default:
      return "the compiler";
  }
}

End failed(index::JobErrorRecord error, std::optional<Digest> disputed = {}) {
  return {JobState::kFailed, std::move(error), disputed};
}

std::string stderrOf(const ResultRecord& record) {
  reapi::ActionResult result;
  return result.ParseFromString(record.result) ? result.stderr_raw() : std::string();
}

// A compile, and the plan that its schedules come from, are repeated by further builders; nothing else is.
bool isRepeated(const ActionRecord& action) {
  return action.kind == ActionKind::kCompile || action.kind == ActionKind::kPlan;
}
std::size_t buildersWanted(const ActionRecord& action, const DeliverySpec& delivery) {
  return isRepeated(action) ? static_cast<std::size_t>(delivery.builders) : 1;
}
std::size_t operatorsWanted(const ActionRecord& action, const DeliverySpec& delivery) {
  return isRepeated(action) ? static_cast<std::size_t>(delivery.operators) : 1;
}

bool majorityDecides(const ActionRecord& action, const DeliverySpec& delivery) {
  return isRepeated(action) && delivery.majority;
}

End disagreement(const ActionRecord& action, const ResultRecord& first, const ResultRecord& second) {
  return failed(
      jobError(Code::kAborted,
               "builders disagree, so the build is not reproducible: " + describeDifferences(first, second) +
                   "; what each left is kept: kiln jobs JOB --outputs WORKER --out DIR",
               kExitNotReproducible, differencesJson(first, second)),
      action.action);
}

End failedTool(const ActionRecord& action, const ResultRecord& result) {
  const auto error = action.kind == ActionKind::kFetch ? fetchError : toolError;
  return failed(error(toolOf(action.kind), result.exitCode, stderrOf(result)));
}

std::size_t runsIn(const JobSnapshot& snapshot, const ActionRecord& action, auto wanted) {
  return static_cast<std::size_t>(std::ranges::count_if(
      snapshot.runs, [&](const RunRecord& run) { return run.action == action.action && wanted(run.state); }));
}

std::size_t failedRuns(const JobSnapshot& snapshot, const ActionRecord& action) {
  return runsIn(snapshot, action, [](RunState state) { return state == RunState::kFailed; });
}

// What a run says that no worker got a result out of, if there is one.
std::optional<End> failedRun(const JobSnapshot& snapshot, const ActionRecord& action) {
  for (const RunRecord& run : snapshot.runs) {
    if (run.action != action.action || run.state != RunState::kFailed) continue;
    Error error{static_cast<Code>(run.errorCode), run.errorMessage, {}};
    error = error.in(
        run.attempts == 0
            ? fmt::format("{} failed on worker {}, and no other can try it", toolOf(action.kind), run.worker)
            : fmt::format("{} failed {} time{}, last on worker {}", toolOf(action.kind), run.attempts,
                          run.attempts == 1 ? "" : "s", run.worker));
    return failed(jobError(error));
  }
  return {};
}

// Where a majority decides: nothing before every builder has voted. A builder that failed without a result
// has voted, against the others.
std::optional<End> majorityAgainst(const JobSnapshot& snapshot, const DeliverySpec& delivery,
                                   const ActionRecord& action, const std::vector<AgreementGroup>& groups,
                                   std::size_t builders) {
  const std::size_t votes = builders + failedRuns(snapshot, action);
  if (votes < static_cast<std::size_t>(delivery.builders)) return {};
  if (!groups.empty() && groups.front().size() * 2 > votes) {
    const ResultRecord& leader = groups.front().front();
    return leader.exitCode == 0 ? std::optional<End>() : failedTool(action, leader);
  }
  if (groups.size() > 1) return disagreement(action, groups[0].front(), groups[1].front());
  return failedRun(snapshot, action);
}

// The votes of builders about an action, one each.
struct Votes {
  std::vector<ResultRecord> counted;
  std::vector<ResultRecord> unconfirmed;  // failures that one builder alone reports
};

// A failure is unconfirmed where no other builder is wanted, and where its tool was killed, which may be a
// limit of its worker: another builder is asked. Where a majority decides, every vote counts.
Votes votesOf(const ActionRecord& action, const DeliverySpec& delivery,
              const std::vector<ResultRecord>& results) {
  const bool alone = buildersWanted(action, delivery) == 1;
  Votes out;
  for (const ResultRecord& result : distinctBuilders(results)) {
    const bool unconfirmed = !majorityDecides(action, delivery) &&
                             (result.exitCode > kKilledBySignal || (alone && result.exitCode != 0));
    (unconfirmed ? out.unconfirmed : out.counted).push_back(result);
  }
  return out;
}

// The outcome of two builders' unconfirmed failures: they confirm each other, or contradict.
End confirmed(const ActionRecord& action, const std::vector<ResultRecord>& unconfirmed) {
  std::vector<ResultRecord> ended = unconfirmed;
  std::erase_if(ended, [](const ResultRecord& result) { return result.exitCode > kKilledBySignal; });
  if (ended.empty()) return failedTool(action, unconfirmed.front());
  const std::vector<AgreementGroup> groups = agreementGroups(ended);
  if (groups.size() > 1) return disagreement(action, groups[0].front(), groups[1].front());
  return failedTool(action, ended.front());
}

// The first reason for which this action can never succeed. A tool's failure is one builder's evidence: where
// several are wanted, it counts once they agree; where one is, a second one is asked, and the first's word
// decides where there is none.
std::optional<End> failureOf(const JobSnapshot& snapshot, const DeliverySpec& delivery,
                             const ActionRecord& action, const std::vector<ResultRecord>& results) {
  const Votes votes = votesOf(action, delivery, results);
  const std::vector<AgreementGroup> groups = agreementGroups(votes.counted);
  if (majorityDecides(action, delivery))
    return majorityAgainst(snapshot, delivery, action, groups, votes.counted.size());
  if (groups.size() > 1) return disagreement(action, groups[0].front(), groups[1].front());
  const std::size_t wanted = buildersWanted(action, delivery);
  if (wanted == 1 && !groups.empty()) return {};
  if (votes.unconfirmed.size() > 1) return confirmed(action, votes.unconfirmed);
  if (const auto end = failedRun(snapshot, action))
    return votes.unconfirmed.empty() ? *end : failedTool(action, votes.unconfirmed.front());
  if (groups.empty() || groups.front().front().exitCode == 0 || votes.counted.size() < wanted) return {};
  return failedTool(action, groups.front().front());
}

std::vector<ResultRecord> resultsOf(const JobSnapshot& snapshot, const ActionRecord& action) {
  std::vector<ResultRecord> out;
  std::copy_if(snapshot.results.begin(), snapshot.results.end(), std::back_inserter(out),
               [&](const ResultRecord& result) { return result.action == action.action; });
  return out;
}

Progress progressOf(const JobSnapshot& snapshot, const DeliverySpec& delivery, const ActionRecord& action) {
  Progress progress;
  const Votes votes = votesOf(action, delivery, resultsOf(snapshot, action));
  for (AgreementGroup& group : agreementGroups(votes.counted)) {
    std::vector<ResultRecord>& to = progress.agreed.empty() ? progress.agreed : progress.dissent;
    to.insert(to.end(), group.begin(), group.end());
  }
  progress.dissent.insert(progress.dissent.end(), votes.unconfirmed.begin(), votes.unconfirmed.end());
  for (const auto* voted : {&votes.counted, &votes.unconfirmed})
    for (const ResultRecord& result : *voted) progress.voted.push_back(builderOf(result));
  progress.live = runsIn(snapshot, action, index::isLive);
  std::size_t builders = buildersWanted(action, delivery), operators = operatorsWanted(action, delivery);
  std::size_t diverse = distinctOperators(progress.agreed);
  const std::size_t voted = votes.counted.size() + failedRuns(snapshot, action);
  std::size_t wanted =
      std::max(builders > voted ? builders - voted : 0, operators > diverse ? operators - diverse : 0);
  progress.complete = wanted == 0;
  progress.missing = wanted > progress.live ? wanted - progress.live : 0;
  return progress;
}

// The oldest results that are enough: later ones do not change what is published, so a publication that was
// interrupted is repeated with the same evidence.
std::vector<ResultRecord> firstEnough(const std::vector<ResultRecord>& successes,
                                      const DeliverySpec& delivery) {
  std::vector<ResultRecord> out;
  for (const ResultRecord& result : successes) {
    if (out.size() >= static_cast<std::size_t>(delivery.builders) &&
        distinctOperators(out) >= static_cast<std::size_t>(delivery.operators))
      break;
    out.push_back(result);
  }
  return out;
}

NewRun newRun(const ActionRecord& action, const Progress& progress) {
  NewRun run{action, progress.voted, {}};
  for (const ResultRecord& result : progress.agreed) run.countedOperators.push_back(result.operatorName);
  return run;
}

// The oldest success of the job's reference action, so that every repetition takes the same; null if there is
// none yet.
const ResultRecord* referenceOf(const JobSnapshot& snapshot) {
  for (const ActionRecord& action : snapshot.actions)
    for (const ResultRecord& result : snapshot.results)
      if (action.kind == ActionKind::kReference && result.action == action.action && result.exitCode == 0)
        return &result;
  return nullptr;
}

// What a completed action leads to, if it has not been done yet.
std::optional<Step> consequence(const JobSnapshot& snapshot, const DeliverySpec& delivery,
                                const ActionRecord& action, const Progress& progress) {
  if (action.kind == ActionKind::kFetch) {
    const index::SourceRecord& source = snapshot.sources.at(static_cast<std::size_t>(*action.source));
    if (!source.blob) return ResolveSource{*action.source, progress.agreed.front()};
    return {};
  }
  if (action.kind == ActionKind::kCheck) {
    for (std::size_t i = 0; i < snapshot.targets.size(); ++i)
      if (snapshot.targets[i].target == action.target && snapshot.targets[i].check == CheckOutcome::kNone)
        return PublishCheck{static_cast<int>(i), progress.agreed.front()};
    return {};
  }
  if (action.kind == ActionKind::kIr) {
    for (std::size_t i = 0; i < snapshot.targets.size(); ++i) {
      const index::TargetRecord& target = snapshot.targets[i];
      if (target.target == action.target && target.artifact && !target.ir)
        return PublishIr{static_cast<int>(i), progress.agreed.front()};
    }
    return {};
  }
  if (action.kind != ActionKind::kCompile) return {};
  const ResultRecord* reference = referenceOf(snapshot);
  if (!reference) return {};  // what is published names its fixtures
  for (std::size_t i = 0; i < snapshot.targets.size(); ++i)
    if (snapshot.targets[i].target == action.target && !snapshot.targets[i].artifact)
      return Publish{
          static_cast<int>(i), action.action,
          majorityDecides(action, delivery) ? progress.agreed : firstEnough(progress.agreed, delivery),
          progress.dissent, *reference};
  return {};
}

const ActionRecord* actionOf(const JobSnapshot& snapshot, ActionKind kind, const std::string& target) {
  const auto found = std::ranges::find_if(snapshot.actions, [&](const ActionRecord& action) {
    return action.kind == kind && action.target == target;
  });
  return found == snapshot.actions.end() ? nullptr : &*found;
}

// The first published target whose check can be planned and has no action yet.
std::optional<Step> unplannedCheck(const JobSnapshot& snapshot, const DeliverySpec& delivery) {
  if (!delivery.check) return {};
  for (std::size_t i = 0; i < snapshot.targets.size(); ++i) {
    const index::TargetRecord& target = snapshot.targets[i];
    if (!target.artifact || actionOf(snapshot, ActionKind::kCheck, target.target)) continue;
    PlanCheck check{static_cast<int>(i), {}};
    if (const ActionRecord* emulate = actionOf(snapshot, ActionKind::kEmulate, target.target)) {
      Progress progress = progressOf(snapshot, delivery, *emulate);
      if (!progress.complete) continue;
      check.emulation = progress.agreed.front();
    }
    return check;
  }
  return {};
}

// The first target whose kernels are planned, and tuned if they are to be, but whose next action is not
// stored.
std::optional<Step> unplannedTuning(const JobSnapshot& snapshot, const DeliverySpec& delivery) {
  if (!delivery.tuning) return {};
  for (std::size_t i = 0; i < snapshot.targets.size(); ++i) {
    const std::string& target = snapshot.targets[i].target;
    const ActionRecord* plan = actionOf(snapshot, ActionKind::kPlan, target);
    if (!plan || actionOf(snapshot, ActionKind::kCompile, target)) continue;
    const Progress planned = progressOf(snapshot, delivery, *plan);
    if (!planned.complete) continue;
    PlanCompile compile{static_cast<int>(i), planned.agreed.front(), {}};
    if (delivery.tuning->search && isSearched(target)) {
      const ActionRecord* tune = actionOf(snapshot, ActionKind::kTune, target);
      if (!tune) return PlanTune{static_cast<int>(i), planned.agreed.front()};
      const Progress tuned = progressOf(snapshot, delivery, *tune);
      if (!tuned.complete) continue;
      compile.tuned = tuned.agreed.front();
    }
    return compile;
  }
  return {};
}

// How the job ends once everything has been done.
End finished(const JobSnapshot& snapshot) {
  std::string failures;
  for (const index::TargetRecord& target : snapshot.targets)
    if (target.check == CheckOutcome::kFailed)
      failures +=
          fmt::format("{}{} ({})", failures.empty() ? "" : ", ", target.target, target.artifact->text());
  if (failures.empty()) return {JobState::kSucceeded, {}, {}};
  return failed(jobError(Code::kAborted,
                         "published, but the check failed for " + failures +
                             "; kiln show ARTIFACT says what did not hold and what the policy makes of it",
                         kExitCheck));
}

bool planned(const JobSnapshot& snapshot) {
  return std::any_of(snapshot.actions.begin(), snapshot.actions.end(),
                     [](const ActionRecord& action) { return action.kind != ActionKind::kFetch; });
}

}  // namespace

bool checkedEmulated(const DeliverySpec& delivery, const std::string& target) {
  return delivery.check && delivery.check->emulated && wantsDevice(target);
}

Step nextStep(const JobSnapshot& snapshot, const DeliverySpec& delivery) {
  if (!index::isOpen(snapshot.job.state)) return Wait{};
  if (snapshot.job.cancelWanted) return End{JobState::kCancelled, {}, {}};
  if (snapshot.job.execution) return executionStep(snapshot);
  for (const ActionRecord& action : snapshot.actions)
    if (auto end = failureOf(snapshot, delivery, action, resultsOf(snapshot, action))) return *end;

  QueueRuns queue;
  bool allComplete = true;
  for (const ActionRecord& action : snapshot.actions) {
    Progress progress = progressOf(snapshot, delivery, action);
    for (std::size_t i = 0; i < progress.missing; ++i) queue.runs.push_back(newRun(action, progress));
    allComplete = allComplete && progress.complete;
  }
  if (!queue.runs.empty()) return queue;
  for (const ActionRecord& action : snapshot.actions) {
    Progress progress = progressOf(snapshot, delivery, action);
    if (!progress.complete) continue;
    if (auto step = consequence(snapshot, delivery, action, progress)) return *step;
  }
  if (auto step = unplannedTuning(snapshot, delivery)) return *step;
  if (auto step = unplannedCheck(snapshot, delivery)) return *step;
  bool resolved = std::all_of(snapshot.sources.begin(), snapshot.sources.end(),
                              [](const index::SourceRecord& source) { return source.blob.has_value(); });
  if (resolved && !planned(snapshot)) return PlanActions{};
  bool published = std::all_of(snapshot.targets.begin(), snapshot.targets.end(),
                               [](const index::TargetRecord& target) { return target.artifact.has_value(); });
  if (allComplete && published) return finished(snapshot);
  return Wait{};
}

std::optional<End> pastDeadline(const JobSnapshot& snapshot, TimePoint now) {
  const index::JobRecord& job = snapshot.job;
  if (!index::isOpen(job.state) || !job.deadline || now < *job.deadline) return {};
  const auto published = std::ranges::count_if(
      snapshot.targets, [](const index::TargetRecord& target) { return target.artifact.has_value(); });
  return failed(jobError(
      Code::kDeadlineExceeded,
      fmt::format("the job was not done by its deadline, {} by the coordinator's clock; {} of {} targets are "
                  "published. What ran to its end is kept: build again with a later --deadline",
                  rfc3339(*job.deadline), published, snapshot.targets.size()),
      kExitUnavailable, Json{{"deadline", rfc3339(*job.deadline)}}.dump()));
}

}  // namespace kiln::jobs
