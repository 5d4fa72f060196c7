#include "coordinator/service/job_logs.h"

#include <algorithm>

#include "coordinator/service/job_view.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {
namespace {

using index::ActionKind;

// As they stand in a job: the plan and its tuning come before the compile that uses them.
constexpr ActionKind kOrder[] = {ActionKind::kFetch, ActionKind::kReference, ActionKind::kPlan,
                                 ActionKind::kTune,  ActionKind::kCompile,   ActionKind::kEmulate,
                                 ActionKind::kCheck};

std::vector<const index::ActionRecord*> inOrder(const std::vector<index::ActionRecord>& actions) {
  std::vector<const index::ActionRecord*> sorted;
  for (const ActionKind kind : kOrder)
    for (const index::ActionRecord& action : actions)
      if (action.kind == kind) sorted.push_back(&action);
  return sorted;
}

}  // namespace

Result<v1::JobLogs> logsOf(const index::JobSnapshot& snapshot, const v1::GetLogsRequest& request) {
  v1::JobLogs out;
  std::size_t room = kMostOfAllLogs;
  for (const index::ActionRecord* const action : inOrder(snapshot.actions)) {
    if (!request.target().empty() && action->target != request.target()) continue;
    for (const index::ResultRecord& result : snapshot.results) {
      if (result.action != action->action) continue;
      if (!request.worker().empty() && result.worker != request.worker()) continue;
      reapi::ActionResult recorded;
      if (!recorded.ParseFromString(result.result))
        return fail(Code::kDataLoss, "the result of run " + result.runId + " does not parse");
      v1::JobLogs::Log& log = *out.add_logs();
      log.set_kind(static_cast<v1::ActionKind>(action->kind));
      log.set_target(action->target);
      *log.mutable_builder() = toProto(result);
      std::string text = recorded.stderr_raw();
      const std::size_t most = std::min(kMostOfALog, room);
      // What is kept has been cut to the same length before.
      const std::size_t kept = recorded.exit_code() == 0 ? kMostOfASuccess : kMostOfALog;
      log.set_truncated(text.size() > most || text.size() == kept);
      if (text.size() > most) text.erase(0, text.size() - most);
      room -= text.size();
      log.set_text(std::move(text));
    }
  }
  if (out.logs().empty())
    return fail(
        Code::kNotFound,
        request.worker().empty() && request.target().empty()
            ? "no tool has ended yet in this job, so there is no log; kiln watch follows it"
            : "no result of that worker and that target is recorded for this job; kiln jobs JOB lists "
              "its builders");
  return out;
}

}  // namespace kiln::service
