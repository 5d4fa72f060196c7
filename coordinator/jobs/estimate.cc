#include "coordinator/jobs/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "manifest/spec/target_device.h"

namespace kiln::jobs {
namespace {

using index::ActionKind;
using index::Expectation;
using index::JobSnapshot;
using index::Subject;

void add(std::vector<PlannedRuns>& out, index::WorkKind work, int runs) {
  const auto same =
      std::ranges::find_if(out, [&](const PlannedRuns& planned) { return planned.work == work; });
  if (same == out.end())
    out.push_back({std::move(work), runs});
  else
    same->runs += runs;
}

// The longest run of each kind for one target; runs for no target are under "".
using Longest = std::map<std::string, std::map<ActionKind, double>>;

double longest(const Longest& all, const std::string& target, ActionKind kind) {
  const auto ofTarget = all.find(target);
  if (ofTarget == all.end()) return 0;
  const auto found = ofTarget->second.find(kind);
  return found == ofTarget->second.end() ? 0 : found->second;
}

// What follows what: next_step.h.
double longestChain(const Longest& all) {
  const double reference = longest(all, "", ActionKind::kReference);
  double most = reference;
  for (const auto& [target, kinds] : all) {
    const double made =
        longest(all, target, ActionKind::kPlan) + longest(all, target, ActionKind::kTune) +
        std::max({longest(all, target, ActionKind::kCompile), longest(all, target, ActionKind::kEmulate),
                  longest(all, target, ActionKind::kIr)});
    most = std::max(most, std::max(reference, made) + longest(all, target, ActionKind::kCheck));
  }
  return longest(all, "", ActionKind::kFetch) + most;
}

}  // namespace

Subject subjectOf(const JobSnapshot& snapshot, const index::ActionRecord& action) {
  Subject out;
  if (action.kind == ActionKind::kExecute) return out;  // all alike
  if (action.source) {
    const auto& git = snapshot.sources.at(static_cast<std::size_t>(*action.source)).git;
    if (git) out.content = digestOf(git->url);
  } else {
    std::uint64_t bytes = 0;
    for (const index::SourceRecord& source : snapshot.sources)
      if (source.blob) bytes += source.blob->size;
    if (snapshot.sources.front().blob) out.content = *snapshot.sources.front().blob;
    out.magnitude = std::bit_width(bytes);
  }
  out.content.size = 0;
  return out;
}

std::vector<PlannedRuns> plannedRuns(const JobSnapshot& snapshot, const DeliverySpec& delivery,
                                     const std::vector<NewRun>& now) {
  std::vector<PlannedRuns> out;
  for (const NewRun& run : now)
    add(out, {run.action.kind, run.action.target, subjectOf(snapshot, run.action)}, 1);
  if (std::ranges::any_of(snapshot.sources, [](const auto& source) { return !source.blob; })) return out;
  const Subject subject = subjectOf(snapshot, {});
  for (const index::TargetRecord& target : snapshot.targets) {
    if (delivery.tuning && !target.artifact) {
      if (delivery.tuning->search && isSearched(target.target))
        add(out, {ActionKind::kTune, target.target, subject}, 1);
      add(out, {ActionKind::kCompile, target.target, subject}, delivery.builders);
      if (checkedEmulated(delivery, target.target))
        add(out, {ActionKind::kEmulate, target.target, subject}, 1);
      if (delivery.keepIr) add(out, {ActionKind::kIr, target.target, subject}, 1);
    }
    if (delivery.check) add(out, {ActionKind::kCheck, target.target, subject}, 1);
  }
  return out;
}

Estimate estimateOf(const std::vector<PlannedRuns>& planned,
                    const std::vector<std::optional<Expectation>>& known) {
  Estimate out;
  Longest all;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const auto& expected = known.at(i);
    if (!expected || !expected->ofTheSubject) continue;
    const index::WorkKind& work = planned[i].work;
    out.workerSeconds += planned[i].runs * expected->seconds;
    double& most = all[work.target][work.kind];
    most = std::max(most, expected->seconds);
    out.basis +=
        fmt::format("{}{}{}{} {} x {:.0f} s after {} earlier run{}", out.basis.empty() ? "" : ", ",
                    actionKindName(work.kind), work.target.empty() ? "" : " for ", work.target,
                    planned[i].runs, expected->seconds, expected->runs, expected->runs == 1 ? "" : "s");
  }
  out.atLeast = longestChain(all);
  return out;
}

}  // namespace kiln::jobs
