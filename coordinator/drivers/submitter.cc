#include "coordinator/drivers/submitter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "coordinator/drivers/fleet_check.h"
#include "coordinator/drivers/submission_limits.h"
#include "coordinator/farm/log.h"
#include "coordinator/jobs/action_builder.h"
#include "coordinator/jobs/submission.h"
#include "coordinator/planning/admitted_toolchain.h"
#include "coordinator/planning/expectations.h"
#include "coordinator/planning/planner.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/tuning/default_schedules.h"
#include "manifest/spec/target.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/job_repository.h"

namespace kiln::service {
namespace {

using index::JobSnapshot;
using jobs::Submission;
using postgres::Connection;

// The job that already has this key; nothing if there is none.
Result<std::optional<JobSnapshot>> knownJob(Connection& connection, const Submission& submission) {
  KILN_ASSIGN(auto known,
              index::findByIdempotencyKey(connection, submission.instance, submission.idempotencyKey));
  if (!known) return std::optional<JobSnapshot>();
  if (known->request != submission.request.hash)
    return fail(Code::kAlreadyExists, "idempotency key \"" + submission.idempotencyKey +
                                          "\" was used for another request; choose a new key");
  return index::loadJob(connection, known->job, index::Evidence::kWithout);
}

Status checkToolchainTargets(const index::ToolchainRecord& toolchain,
                             const std::vector<std::string>& targets) {
  for (const std::string& target : targets)
    for (const std::string& part : targetNames(target))
      if (std::ranges::find(toolchain.targets, part) == toolchain.targets.end())
        return fail(Code::kUnimplemented,
                    fmt::format("toolchain {} does not build for {}; it builds for {}", toolchain.label, part,
                                fmt::join(toolchain.targets, ", ")));
  return {};
}

Status checkUploaded(storage::BlobStore& blobs, const Submission& submission) {
  std::vector<Digest> digests;
  std::vector<ModelFile> wanted;
  for (const index::SourceRecord& source : submission.sources)
    if (source.blob) wanted.push_back({source.path, *source.blob});
  if (const auto& check = submission.delivery.check) {
    wanted.push_back({"check.json", check->plan});
    wanted.insert(wanted.end(), check->files.begin(), check->files.end());
  }
  for (const ModelFile& file : wanted) digests.push_back(file.digest);
  KILN_ASSIGN(auto missing, blobs.findMissing(submission.instance, digests));
  if (missing.empty()) return {};
  Json list = Json::array();
  for (const ModelFile& file : wanted)
    if (std::find(missing.begin(), missing.end(), file.digest) != missing.end())
      list.push_back(
          {{"digest", file.digest.text()}, {"path", file.path}, {"size", std::to_string(file.digest.size)}});
  return fail(Error{Code::kFailedPrecondition,
                    fmt::format("{} of {} source blobs must be uploaded first", list.size(), digests.size()),
                    Json{{"missing", std::move(list)}}.dump()});
}

// What is known of a job's inputs before it runs.
std::vector<Digest> contentOf(const JobSnapshot& snapshot) {
  std::vector<Digest> content{snapshot.job.toolchainDigest};
  for (const index::SourceRecord& source : snapshot.sources)
    if (source.blob) content.push_back(*source.blob);
  return content;
}

JobSnapshot newJob(const Submission& submission, const index::ToolchainRecord& toolchain, TimePoint now) {
  JobSnapshot snapshot;
  snapshot.job.key = {submission.instance, newId(now)};
  snapshot.job.idempotencyKey = submission.idempotencyKey;
  snapshot.job.request = submission.request;
  snapshot.job.submitted = now;
  snapshot.job.reuse = !submission.delivery.noCache;
  snapshot.job.toolchainLabel = toolchain.label;
  snapshot.job.toolchainDigest = toolchain.toolchainDigest;
  snapshot.job.spec = submission.specText;
  snapshot.job.delivery = submission.deliveryText;
  snapshot.job.modelName = submission.modelName;
  snapshot.sources = submission.sources;
  for (const std::string& target : submission.targets) snapshot.targets.push_back({target, {}, false, {}});
  return snapshot;
}

void addFetches(JobSnapshot& snapshot) {
  for (std::size_t i = 0; i < snapshot.sources.size(); ++i)
    if (const auto& git = snapshot.sources[i].git; git && !snapshot.sources[i].blob)
      snapshot.actions.push_back(
          {index::ActionKind::kFetch, "", jobs::fetchAction(*git), static_cast<int>(i)});
}

// The job builds afresh.
void forgetEarlierWork(JobSnapshot& snapshot) {
  snapshot.job.reuse = false;
  snapshot.results.clear();
  for (index::TargetRecord& target : snapshot.targets)
    target = {target.target, {}, false, {}, index::CheckOutcome::kNone, target.tuning};
}

// All artifacts are there: nothing but their IR is to be made.
Status planIrAlone(const Planning& planning, Connection& connection, const DeliverySpec& delivery,
                   JobSnapshot& snapshot) {
  std::erase_if(snapshot.actions,
                [](const index::ActionRecord& action) { return action.kind != index::ActionKind::kIr; });
  KILN_TRY(reuseResults(planning, connection, snapshot));
  if (!std::holds_alternative<jobs::End>(jobs::nextStep(snapshot, delivery))) return {};
  snapshot.job.reuse = false;
  snapshot.results.clear();
  return {};
}

// Decides what of the job is done already; returns the blobs of its actions.
Result<std::vector<storage::UploadItem>> plan(const Planning& planning, Connection& connection,
                                              const Submission& submission,
                                              const index::ToolchainRecord& toolchain,
                                              JobSnapshot& snapshot) {
  addFetches(snapshot);
  if (!snapshot.actions.empty()) return std::vector<storage::UploadItem>();
  KILN_ASSIGN(Plan planned, planActions(snapshot, submission.spec, submission.delivery));
  snapshot.actions = std::move(planned.actions);
  if (!snapshot.job.reuse) return std::move(planned.blobs);
  KILN_TRY(reuseArtifacts(planning, connection, toolchain, submission, snapshot));
  bool hit = std::all_of(snapshot.targets.begin(), snapshot.targets.end(),
                         [](const index::TargetRecord& target) { return target.artifact.has_value(); });
  if (hit && !submission.delivery.check) {
    if (submission.delivery.keepIr) {
      KILN_TRY(planIrAlone(planning, connection, submission.delivery, snapshot));
      return std::move(planned.blobs);
    }
    snapshot.job.state = index::JobState::kSucceeded;
    snapshot.job.ended = snapshot.job.submitted;
    return std::move(planned.blobs);
  }
  KILN_TRY(reuseResults(planning, connection, snapshot));
  if (!snapshot.job.reuse) forgetEarlierWork(snapshot);
  jobs::Step step = jobs::nextStep(snapshot, submission.delivery);
  if (std::holds_alternative<jobs::End>(step)) forgetEarlierWork(snapshot);  // earlier builders disagree
  return std::move(planned.blobs);
}

FleetQuestion askedOfFleet(const Submission& submission, const JobSnapshot& snapshot) {
  const bool fetches = snapshot.actions.front().kind == index::ActionKind::kFetch;
  const auto& rebuild = submission.delivery.rebuild;
  return {submission.instance, scheduler::requirementsOf(submission.targets, submission.delivery, fetches),
          rebuild ? rebuild->builders : std::vector<std::string>()};
}

// Whoever made an artifact does not rebuild it. The tuning that it was compiled with, if any.
Result<std::optional<Digest>> excludeBuilders(storage::BlobStore& blobs, Connection& connection,
                                              Submission& submission) {
  if (!submission.delivery.rebuild) return std::optional<Digest>();
  RebuildRequest& rebuild = *submission.delivery.rebuild;
  KILN_ASSIGN(auto artifact, index::loadArtifact(connection, submission.instance, rebuild.artifact));
  if (!artifact)
    return fail(Code::kNotFound, "no artifact " + rebuild.artifact.text() + " is published here");
  std::set<std::string> names(rebuild.builders.begin(), rebuild.builders.end());
  for (const index::BuilderRecord& builder : artifact->builders) names.insert(builder.worker);
  rebuild.builders.assign(names.begin(), names.end());
  KILN_ASSIGN(submission.deliveryText, toCanonicalJson(submission.delivery.toJson()));
  KILN_ASSIGN(const std::string text,
              storage::getBlob(blobs, submission.instance, artifact->config, jobs::kMaxDocument));
  KILN_ASSIGN(const Json json, parseCanonicalJson(text));
  KILN_ASSIGN(const Manifest manifest, Manifest::fromJson(json));
  return manifest.spec.tuning;
}

// What checkServed() found, for a rebuild: those who built the artifact do not count, and no other target
// helps.
Error withoutOthers(const Error& error, const RebuildRequest& rebuild) {
  Error out = error;
  out.message = fmt::format(
      "a rebuild wants a worker that did not build it before: {} did, and no other worker here can. {}",
      fmt::join(rebuild.builders, ", "),
      error.code == Code::kUnimplemented
          ? "Start one more worker, or make it again from an export with kiln rebuild --offline DIR"
          : error.message);
  return out;
}

}  // namespace

Result<JobSnapshot> Submitter::submit(const v1::SubmitJobRequest& request, const SubmissionCaller& caller) {
  const TimePoint began = planning_.stores.clock.now();
  KILN_ASSIGN(Submission submission, jobs::readSubmission(request));
  KILN_ASSIGN(auto connection, planning_.stores.database.acquire());
  KILN_ASSIGN(auto known, knownJob(*connection, submission));
  if (known) return std::move(*known);
  KILN_ASSIGN(auto toolchain,
              admittedToolchain(admissions_, *connection, submission.instance, submission.toolchain));
  KILN_TRY(checkToolchainTargets(toolchain, submission.targets));
  KILN_ASSIGN(const auto tuning, excludeBuilders(planning_.stores.blobs, *connection, submission));

  JobSnapshot snapshot = newJob(submission, toolchain, planning_.stores.clock.now());
  snapshot.job.submitter = caller.name;
  snapshot.job.trace = traceOfNewJob(observers_.tracing, snapshot.job.key, caller.traceparent);
  KILN_ASSIGN(snapshot.job.deadline, deadlineOf(submission.delivery, snapshot.job.submitted));
  if (tuning) snapshot.targets.front().tuning = tuning;
  if (submission.delivery.defaultSchedules)
    KILN_TRY(takeDefaultSchedules(planning_.stores.blobs, toolchain, snapshot));
  if (!submission.delivery.rebuild) KILN_TRY(checkNotRecalled(planning_.recalls, contentOf(snapshot)));
  KILN_ASSIGN(auto blobs, plan(planning_, *connection, submission, toolchain, snapshot));
  bool cached = !index::isOpen(snapshot.job.state);
  if (!cached) {
    if (auto fleet =
            checkServed(planning_, leasing_.graceUntil, *connection, askedOfFleet(submission, snapshot));
        !fleet)
      return fail(submission.delivery.rebuild ? withoutOthers(fleet.error(), *submission.delivery.rebuild)
                                              : fleet.error());
    const jobs::Step step = jobs::nextStep(snapshot, submission.delivery);
    const auto* queue = std::get_if<jobs::QueueRuns>(&step);
    const std::vector<jobs::NewRun> next = queue ? queue->runs : std::vector<jobs::NewRun>();
    const quota::Quota quota = leasing_.quotas->current()->of(submission.instance);
    KILN_TRY(checkEstimate(quota, *connection, snapshot, submission.delivery, next));
    KILN_TRY(checkQuota(quota, *connection, submission, snapshot.job.submitted));
    KILN_TRY(checkUploaded(planning_.stores.blobs, submission));
    KILN_TRY(storage::uploadMissing(planning_.stores.blobs, submission.instance, blobs));
    snapshot.runs = makeRuns(snapshot, submission.delivery, next, snapshot.job.submitted);
    KILN_TRY(setExpected(*connection, snapshot.runs));
  }
  Status stored = connection->transact([&](Connection& c) -> Status {
    KILN_TRY(index::insertJob(c, snapshot));
    for (std::size_t i = 0; i < snapshot.targets.size(); ++i)
      if (const auto& given = snapshot.targets[i].tuning)
        KILN_TRY(index::setTargetTuning(c, snapshot.job.key, static_cast<int>(i), *given));
    return {};
  });
  if (!stored && stored.error().code == Code::kAlreadyExists) {  // the same submission came twice at once
    KILN_ASSIGN(auto first, knownJob(*connection, submission));
    if (first) return std::move(*first);
  }
  KILN_TRY(stored);
  observers_.metrics.jobSubmitted(cached);
  const TimePoint now = planning_.stores.clock.now();
  tellSubmitted(observers_.tracing, snapshot.job, caller.traceparent, began, now);
  if (cached) {
    observers_.metrics.jobEnded(snapshot.job.state, Duration::zero());
    tellEnded(observers_.tracing, snapshot.job, snapshot.job.state, "", now);
  }
  logInfo("job submitted", {{"instance", snapshot.job.key.instance},
                            {"job", snapshot.job.key.id},
                            {"trace", tracing::traceOf(snapshot.job.trace)},
                            {"submitter", caller.name},
                            {"toolchain", toolchain.label},
                            {"targets", fmt::format("{}", fmt::join(submission.targets, ","))},
                            {"cached", cached ? "yes" : "no"}});
  observers_.reached(kPointSubmitted);
  snapshot.results.clear();
  // The revision is given by the database.
  if (cached) return snapshot;
  KILN_ASSIGN(auto loaded, index::loadJob(*connection, snapshot.job.key, index::Evidence::kWithout));
  if (!loaded) return fail(Code::kInternal, "a job that was just stored is not there");
  return std::move(*loaded);
}

}  // namespace kiln::service
