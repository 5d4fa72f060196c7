#include "coordinator/view/job_logs.h"

#include <algorithm>

#include "coordinator/view/job_view.h"
#include "manifest/base/nearest.h"
#include "manifest/base/printable.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {
namespace {

using index::ActionKind;

// As they stand in a job: the plan and its tuning come before the compile that uses them.
constexpr ActionKind kOrder[] = {ActionKind::kFetch, ActionKind::kReference, ActionKind::kPlan,
                                 ActionKind::kTune,  ActionKind::kCompile,   ActionKind::kEmulate,
                                 ActionKind::kIr,    ActionKind::kCheck,     ActionKind::kExecute};

std::vector<const index::ActionRecord*> inOrder(const std::vector<index::ActionRecord>& actions) {
  std::vector<const index::ActionRecord*> sorted;
  for (const ActionKind kind : kOrder)
    for (const index::ActionRecord& action : actions)
      if (action.kind == kind) sorted.push_back(&action);
  return sorted;
}

class Collector {
 public:
  Collector(const std::string& job, const v1::GetLogsRequest& request) : job_(job), request_(request) {}

  // Of another job, where the cache answered.
  Status addResult(const index::ActionRecord& action, const index::ResultRecord& result) {
    if (result.action != action.action || result.jobId == job_ || request_.attempt() != 0) return {};
    if (!isAsked(result.worker)) return {};
    return addText(result, add(action));
  }

  Status addAttempt(const index::ActionRecord& action, const index::AttemptRecord& attempt, int number) {
    if (!isAsked(attempt.worker) || (request_.attempt() != 0 && request_.attempt() != number)) return {};
    v1::JobLogs::Log& log = add(action);
    log.set_attempt(number);
    log.set_outcome(attempt.outcome);
    if (attempt.error.size() <= room_) log.set_error(attempt.error);
    room_ -= log.error().size();
    setTimestamp(log.mutable_leased(), attempt.leased);
    setTimestamp(log.mutable_ended(), attempt.ended);
    if (attempt.result) return addText(*attempt.result, log);
    log.mutable_builder()->set_worker(attempt.worker);
    log.mutable_builder()->set_operator_(attempt.operatorName);
    log.mutable_builder()->set_job(job_);
    return {};
  }

  v1::JobLogs take() { return std::move(out_); }

 private:
  bool isAsked(const std::string& worker) const {
    return request_.worker().empty() || request_.worker() == worker;
  }

  v1::JobLogs::Log& add(const index::ActionRecord& action) {
    v1::JobLogs::Log& log = *out_.add_logs();
    log.set_kind(static_cast<v1::ActionKind>(action.kind));
    log.set_target(action.target);
    return log;
  }

  Status addText(const index::ResultRecord& result, v1::JobLogs::Log& log) {
    reapi::ActionResult recorded;
    if (!recorded.ParseFromString(result.result))
      return fail(Code::kDataLoss, "the result of run " + result.runId + " does not parse");
    *log.mutable_builder() = toProto(result);
    std::string text = recorded.stderr_raw();
    const std::size_t most = std::min(kMaxOfALog, room_);
    // What is kept has been cut to the same length before.
    const std::size_t kept = recorded.exit_code() == 0 ? kMaxOfASuccess : kMaxOfALog;
    log.set_truncated(text.size() > most || text.size() == kept);
    if (text.size() > most) text.erase(0, text.size() - most);
    room_ -= text.size();
    log.set_text(std::move(text));
    return {};
  }

  const std::string& job_;
  const v1::GetLogsRequest& request_;
  std::size_t room_ = kMaxOfAllLogs;
  v1::JobLogs out_;
};

// A target that the job does not have is a slip of the keyboard, and not one of which nothing has ended yet.
Status checkTarget(const index::JobSnapshot& snapshot, const std::string& target) {
  std::vector<std::string> targets;
  for (const auto& each : snapshot.targets) targets.push_back(each.target);
  if (target.empty() || std::ranges::find(targets, target) != targets.end()) return {};
  const std::string near = orNearest(target, targets);
  return fail(Code::kInvalidArgument, "this job does not build for " + inQuotes(target) + near +
                                          (near.empty() ? ";" : "") + " kiln jobs JOB lists its targets");
}

}  // namespace

Result<v1::JobLogs> logsOf(const index::JobSnapshot& snapshot,
                           const std::vector<index::AttemptRecord>& attempts,
                           const v1::GetLogsRequest& request) {
  if (request.attempt() < 0) return fail(Code::kInvalidArgument, "attempt: must be 1 or more, or 0 for all");
  KILN_TRY(checkTarget(snapshot, request.target()));
  Collector logs(snapshot.job.key.id, request);
  for (const index::ActionRecord* const action : inOrder(snapshot.actions)) {
    if (!request.target().empty() && action->target != request.target()) continue;
    for (const index::ResultRecord& result : snapshot.results) KILN_TRY(logs.addResult(*action, result));
    int number = 0;
    for (const index::AttemptRecord& attempt : attempts)
      if (attempt.action.hash == action->action.hash) KILN_TRY(logs.addAttempt(*action, attempt, ++number));
  }
  v1::JobLogs out = logs.take();
  const bool all = request.worker().empty() && request.target().empty() && request.attempt() == 0;
  if (out.logs().empty())
    return fail(Code::kNotFound,
                all ? "no tool has ended yet in this job, so there is no log; kiln watch follows it"
                    : "nothing of that worker, target and attempt has ended in this job; kiln logs JOB lists "
                      "what has");
  return out;
}

}  // namespace kiln::service
