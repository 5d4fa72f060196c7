#include "coordinator/drivers/job_steps.h"

#include <algorithm>

#include "coordinator/farm/log.h"
#include "coordinator/jobs/submission.h"
#include "coordinator/planning/expectations.h"
#include "coordinator/planning/planner.h"
#include "coordinator/planning/proof.h"
#include "manifest/base/printable.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/index/jobs/result_repository.h"
#include "storage/source/fetched_model.h"

namespace kiln::service {
namespace {

using index::JobSnapshot;
using postgres::Connection;

Status endInDatabase(const Clock& clock, Connection& connection, const JobSnapshot& snapshot,
                     const jobs::End& end) {
  if (end.disputed) KILN_TRY(index::markDisputed(connection, snapshot.job.key.instance, *end.disputed));
  KILN_TRY(index::endJob(connection, snapshot.job.key, end.state, end.error, clock.now()));
  return {};
}

// The model of a folder is what the fetcher found in it, and its weights are the job's parameters where the
// submitter named none.
Status takeFolder(const JobSnapshot& snapshot, const source::FetchedModel& fetched,
                  index::ResolvedSource& resolved) {
  resolved.path = fetched.model.name;
  resolved.gitPath = fetched.model.path;
  KILN_ASSIGN(CompileSpec spec, jobs::readSpec(snapshot.job.spec));
  if (!spec.parameters.empty()) return {};
  for (const source::FetchedFile& file : fetched.weights) spec.parameters.push_back(file.name);
  KILN_ASSIGN(resolved.spec, toCanonicalJson(submittedToJson(spec)));
  return {};
}

// A file that came with another must not stand for one that the submitter gave.
Status checkEachOnce(const JobSnapshot& snapshot, const index::ResolvedSource& resolved) {
  for (const index::SourceRecord& one : resolved.further)
    if (std::ranges::find(snapshot.sources, one.path, &index::SourceRecord::path) != snapshot.sources.end())
      return fail(Code::kInvalidArgument,
                  "the fetched model brings " + inQuotes(one.path) + ", which is given beside it as well");
  return {};
}

// kInvalidArgument where what was fetched is not what the job can take.
Result<index::ResolvedSource> resolved(const JobSnapshot& snapshot, const jobs::ResolveSource& step) {
  const index::SourceRecord& source = snapshot.sources.at(static_cast<std::size_t>(step.source));
  const index::GitSource& git = *source.git;
  KILN_ASSIGN(jobs::Outputs outputs, jobs::readOutputs(step.result));
  KILN_ASSIGN(const source::FetchedModel fetched, source::fetchedModel(git.path, jobs::pathsOf(outputs)));
  index::ResolvedSource out{
      step.source, source.path, git.path, outputs.find(fetched.model.output)->digest, {}, snapshot.job.spec};
  if (step.source > 0 && (fetched.isFolder || !fetched.data.empty()))
    return fail(Code::kInvalidArgument,
                inQuotes(git.path) + (fetched.isFolder ? " is a folder of the commit; name its files"
                                                       : " is a model with data of its own, and no tensors"));
  if (fetched.isFolder) KILN_TRY(takeFolder(snapshot, fetched, out));
  const auto add = [&](const source::FetchedFile& file) {
    out.further.push_back(
        {file.name, outputs.find(file.output)->digest, index::GitSource{git.url, git.commit, file.path}, {}});
  };
  std::ranges::for_each(fetched.data, add);
  // Nobody's weights replace those that the submitter chose.
  if (out.spec != snapshot.job.spec) std::ranges::for_each(fetched.weights, add);
  KILN_TRY(checkEachOnce(snapshot, out));
  return out;
}

bool usesEarlierJobs(const JobSnapshot& snapshot) {
  return std::any_of(snapshot.results.begin(), snapshot.results.end(),
                     [&](const index::ResultRecord& result) { return result.jobId != snapshot.job.key.id; });
}

}  // namespace

Result<bool> applyInDatabase(const Clock& clock, const Leasing& leasing, Connection& connection,
                             const JobSnapshot& snapshot, const DeliverySpec& delivery,
                             const jobs::Step& step) {
  if (const auto* queue = std::get_if<jobs::QueueRuns>(&step)) {
    const TimePoint now = clock.now();
    std::vector<index::RunRecord> runs = makeRuns(snapshot, delivery, queue->runs, now);
    KILN_TRY(setExpected(connection, runs));
    KILN_TRY(index::addRuns(connection, runs));
    // Who is to confirm a failure is not waited for where there is nobody.
    KILN_TRY(leasing.queue.failAbandoned(connection, now >= leasing.graceUntil, snapshot.job.key));
    return true;
  }
  if (const auto* source = std::get_if<jobs::ResolveSource>(&step)) {
    const auto found = resolved(snapshot, *source);
    KILN_TRY(found ? index::resolveSource(connection, snapshot.job.key, *found)
                   : recordFailedStep(clock, connection, snapshot, step, found.error()));
    return true;
  }
  if (const auto* end = std::get_if<jobs::End>(&step)) {
    KILN_TRY(endInDatabase(clock, connection, snapshot, *end));
    return true;
  }
  return std::holds_alternative<jobs::Wait>(step);
}

Status planStoredJob(const Planning& planning, const JobSnapshot& snapshot, const DeliverySpec& delivery) {
  KILN_ASSIGN(CompileSpec submitted, jobs::readSpec(snapshot.job.spec));
  KILN_ASSIGN(Plan plan, planActions(snapshot, submitted, delivery));
  return storePlan(planning, snapshot, plan, [](Connection&) { return Status(); });
}

Status recordFailedStep(const Clock& clock, Connection& connection, const JobSnapshot& snapshot,
                        const jobs::Step& step, const Error& error) {
  const index::JobKey& key = snapshot.job.key;
  bool bytesGone = error.code == Code::kDataLoss || error.code == Code::kNotFound;
  if (bytesGone && snapshot.job.reuse && usesEarlierJobs(snapshot)) {
    logWarning("earlier results cannot be used, building afresh",
               {{"instance", key.instance}, {"job", key.id}, {"error", error.message}});
    return index::stopReuse(connection, key);
  }
  logWarning("job failed", {{"instance", key.instance}, {"job", key.id}, {"error", error.message}});
  jobs::End end{index::JobState::kFailed, jobs::jobError(error), {}};
  return endInDatabase(clock, connection, snapshot, end);
}

}  // namespace kiln::service
