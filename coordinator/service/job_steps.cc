#include "coordinator/service/job_steps.h"

#include <algorithm>

#include "coordinator/jobs/submission.h"
#include "coordinator/service/log.h"
#include "coordinator/service/planner.h"
#include "coordinator/service/proof.h"
#include "storage/index/job_changes.h"
#include "storage/index/job_repository.h"
#include "storage/index/result_repository.h"

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

Status endInDatabase(const Farm& farm, Connection& connection, const JobSnapshot& snapshot,
                     const jobs::End& end) {
  if (end.disputed) KILN_TRY(index::markDisputed(connection, snapshot.job.key.instance, *end.disputed));
  KILN_TRY(index::endJob(connection, snapshot.job.key, end.state, end.error, farm.clock.now()));
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

Result<bool> applyInDatabase(const Farm& farm, Connection& connection, const JobSnapshot& snapshot,
                             const DeliverySpec& delivery, const jobs::Step& step) {
  if (const auto* queue = std::get_if<jobs::QueueRuns>(&step)) {
    KILN_TRY(index::addRuns(connection, makeRuns(snapshot, delivery, queue->runs, farm.clock.now())));
    return true;
  }
  if (const auto* source = std::get_if<jobs::ResolveSource>(&step)) {
    KILN_TRY(resolve(connection, snapshot, *source));
    return true;
  }
  if (const auto* end = std::get_if<jobs::End>(&step)) {
    KILN_TRY(endInDatabase(farm, connection, snapshot, *end));
    return true;
  }
  return std::holds_alternative<jobs::Wait>(step);
}

Status planStoredJob(const Farm& farm, const JobSnapshot& snapshot, const DeliverySpec& delivery) {
  KILN_ASSIGN(CompileSpec options, jobs::readOptions(snapshot.job.options));
  KILN_ASSIGN(Plan plan, planActions(snapshot, options, delivery));
  KILN_TRY(storage::uploadMissing(farm.blobs, snapshot.job.key.instance, plan.blobs));
  std::vector<Digest> actions;
  for (const index::ActionRecord& action : plan.actions) actions.push_back(action.action);
  return farm.database.transact([&](Connection& c) -> Status {
    KILN_ASSIGN(auto current,
                index::loadJob(c, snapshot.job.key, index::Evidence::kWithout, index::Lock::kUpdate));
    if (!current || current->actions.size() != snapshot.actions.size())
      return {};  // another coordinator did it
    if (current->job.reuse) {
      KILN_ASSIGN(auto earlier, index::reusableResults(c, snapshot.job.key.instance, actions));
      dropUnproven(farm, snapshot.job.key.id, earlier);
      KILN_ASSIGN(bool present, outputsArePresent(farm, snapshot.job.key.instance, earlier));
      if (!present) KILN_TRY(index::stopReuse(c, snapshot.job.key));
    }
    KILN_TRY(index::addActions(c, snapshot.job.key, snapshot.actions.size(), plan.actions));
    return index::touchJob(c, snapshot.job.key);
  });
}

Status recordFailedStep(const Farm& farm, Connection& connection, const JobSnapshot& snapshot,
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
  return endInDatabase(farm, connection, snapshot, end);
}

}  // namespace kiln::service
