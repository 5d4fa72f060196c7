#include "coordinator/drivers/job_steps.h"

#include <algorithm>

#include "coordinator/farm/log.h"
#include "coordinator/jobs/submission.h"
#include "coordinator/planning/expectations.h"
#include "coordinator/planning/planner.h"
#include "coordinator/planning/proof.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/index/jobs/result_repository.h"

namespace kiln::service {
namespace {

using index::JobSnapshot;
using postgres::Connection;

std::string lastSegment(const std::string& path) {
  std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string directoryOf(const std::string& path) {
  std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

Status endInDatabase(const Clock& clock, Connection& connection, const JobSnapshot& snapshot,
                     const jobs::End& end) {
  if (end.disputed) KILN_TRY(index::markDisputed(connection, snapshot.job.key.instance, *end.disputed));
  KILN_TRY(index::endJob(connection, snapshot.job.key, end.state, end.error, clock.now()));
  return {};
}

Status resolve(Connection& connection, const JobSnapshot& snapshot, const jobs::ResolveSource& step) {
  const index::GitSource& git = *snapshot.sources.at(static_cast<std::size_t>(step.source)).git;
  KILN_ASSIGN(jobs::Outputs outputs, jobs::readOutputs(step.result));
  std::string name = lastSegment(git.path);
  const jobs::OutputFile* main = outputs.find(name);
  if (!main) return fail(Code::kDataLoss, "the fetcher's result lacks " + name);
  std::vector<index::SourceRecord> further;
  for (const jobs::OutputFile& file : outputs.files)
    if (file.path != name)
      further.push_back({file.path,
                         file.digest,
                         index::GitSource{git.url, git.commit, directoryOf(git.path) + file.path},
                         {}});
  return index::resolveSource(connection, snapshot.job.key, step.source, main->digest, further);
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
    KILN_TRY(resolve(connection, snapshot, *source));
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
