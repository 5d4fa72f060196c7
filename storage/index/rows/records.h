// The rows of the index as plain values: what the repositories return and what the coordinator's pure code
// works on. Times are UTC; digests are SHA-256 with size.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/spec/action_kind.h"
#include "storage/index/mention/mention.h"

namespace kiln::index {

// The numbers are those of kiln.v1.JobState. How far an open job has come, "running" or "publishing", follows
// from its runs.
enum class JobState { kQueued = 1, kSucceeded = 4, kFailed = 5, kCancelled = 6 };
inline bool isOpen(JobState state) {
  return state == JobState::kQueued;
}

using kiln::ActionKind;

// Whether it runs on a device that its lease holds.
inline bool wantsDevice(ActionKind kind) {
  return kind == ActionKind::kCheck || kind == ActionKind::kTune;
}

enum class RunState { kQueued = 0, kLeased = 1, kDone = 2, kFailed = 3, kCancelled = 4 };
inline bool isLive(RunState state) {
  return state == RunState::kQueued || state == RunState::kLeased;
}

struct JobKey {
  std::string instance, id;
  auto operator<=>(const JobKey&) const = default;
};

struct GitSource {
  std::string url, commit, path;
  auto operator<=>(const GitSource&) const = default;
};

struct SourceRecord {
  std::string path;                 // normalised: "model.onnx", or relative to the model
  std::optional<Digest> blob;       // absent until fetched
  std::optional<GitSource> git;     // resolved by the farm's fetcher
  std::optional<GitSource> origin;  // where the submitter says the blob came from
};

// What a job's check of an artifact said.
enum class CheckOutcome { kNone = 0, kPassed = 1, kFailed = 2 };

struct TargetRecord {
  std::string target;
  std::optional<Digest> artifact;  // the OCI manifest, once published
  bool cached = false;
  std::vector<std::string> builders;
  CheckOutcome check = CheckOutcome::kNone;
  std::optional<Digest> tuning;  // tuning.json, where its compile has one
  bool ir = false;               // the job has seen to it that the artifact's IR is kept
};

struct ActionRecord {
  ActionKind kind = ActionKind::kCompile;
  std::string target;  // compile and check only
  Digest action;
  std::optional<int> source;  // fetch only: which source it resolves
};

struct JobErrorRecord {
  int code = 0;  // canonical
  std::string message;
  int exitCode = 0;
  std::string details;  // JSON object or ""
};

// What makes a job the execution of a foreign action, for a client of the Remote Execution API.
struct ExecutionRecord {
  Digest action;           // as the client knows it; the one that runs has a salt
  bool cacheable = false;  // its result answers later calls
  TimePoint watched;       // when somebody last waited for it
};

struct JobRecord {
  JobKey key;
  std::string idempotencyKey;
  Digest request;
  JobState state = JobState::kQueued;
  bool cancelWanted = false;
  bool reuse = true;  // results of earlier jobs count as builders
  TimePoint submitted;
  std::optional<TimePoint> ended;
  std::optional<TimePoint> deadline;  // when it ends if it is not done by then
  std::string toolchainLabel;
  Digest toolchainDigest;
  std::string spec;      // canonical JSON of the CompileSpec, as submitted
  std::string delivery;  // canonical JSON of the DeliverySpec
  std::string modelName;
  std::string submitter = "local";  // the identity that the caller proved; "local": the farm's private socket
  std::string trace;                // W3C traceparent of its submission where the job is traced; else ""
  std::optional<JobErrorRecord> error;
  // Of such a job alone: it has one action, of kExecute, and neither sources nor targets nor toolchain; its
  // toolchainDigest is the tree that stands at /, of size 0 if there is none.
  std::optional<ExecutionRecord> execution = {};
  std::uint64_t revision = 0;
};

// Runs of one kind and target take about the same time where these are equal, and somewhat alike where the
// magnitude is.
struct Subject {
  Digest content;     // the model; of a fetch the repository. Its size is 0
  int magnitude = 0;  // the binary logarithm of the bytes of all sources
  bool operator==(const Subject&) const = default;
};

// What decides how long a run takes.
struct WorkKind {
  ActionKind kind = ActionKind::kCompile;
  std::string target;
  Subject subject;
  bool operator==(const WorkKind&) const = default;
};

// How long it is going to take, from runs of the same instance that ended well.
struct Expectation {
  double seconds = 0;
  int runs = 0;               // that it was learnt from
  bool ofTheSubject = false;  // and not of others of about its size
};

// One builder's share of an action.
struct RunRecord {
  std::string instance, id, jobId;
  Digest action;
  ActionKind kind = ActionKind::kCompile;
  std::string target;
  Digest toolchainDigest;
  std::optional<GitSource> git;
  int priority = 0;
  int operatorsWanted = 1;
  std::vector<std::string> excludedWorkers;   // whose evidence is counted already
  std::vector<std::string> countedOperators;  // of that evidence
  int timeLimitSeconds = 3600;
  bool emulated = false;  // a check or tune that wants an emulated device
  Subject subject;
  std::optional<TimePoint> jobDeadline;
  double expectedSeconds = 0;  // as known when it was queued; the longer one of a lane goes first
  RunState state = RunState::kQueued;
  TimePoint queued;
  int attempts = 0;
  std::uint64_t epoch = 0;
  std::string worker, operatorName;
  std::optional<TimePoint> expires;
  std::optional<TimePoint> deadline;  // the lease's end whatever its worker says
  std::vector<std::string> devices;   // of the worker, held by the lease
  std::string stage;
  int errorCode = 0;  // of the last failed attempt
  std::string errorMessage;
  std::uint64_t revision = 0;
};

// What one builder's tool left, rehashed by the coordinator.
struct ResultRecord {
  std::string instance, runId;
  std::uint64_t epoch = 0;
  std::string jobId;
  Digest action;
  std::string worker, operatorName;
  int exitCode = 0;
  Digest outputs;      // of the sorted output paths and digests; its size is that of the listing
  std::string result;  // build.bazel.remote.execution.v2.ActionResult, serialised
  std::string receipt, certificate;
  TimePoint leased, recorded;
  bool disputed = false;
};

// One lease of a run, once it has ended.
struct AttemptRecord {
  std::string runId;
  std::uint64_t epoch = 0;
  Digest action;  // its size is 0
  std::string worker, operatorName;
  TimePoint leased, ended;
  std::string outcome;  // done, failed, final, lost, cancelled
  std::string error;
  std::optional<ResultRecord> result;  // of one that is done
};

// Everything stored about one job.
struct JobSnapshot {
  JobRecord job;
  std::vector<SourceRecord> sources;
  std::vector<TargetRecord> targets;
  std::vector<ActionRecord> actions;
  std::vector<RunRecord> runs;
  std::set<std::string>
      failedRuns;  // ids of runs that are done, and whose tool ended with another code than 0
  std::map<std::string, TimePoint>
      leasedSince;  // when their workers got them, by id of those that are leased
  // For each of the job's actions: the job's own results and, unless it wants none from the cache, undisputed
  // successes of earlier jobs. Oldest first.
  std::vector<ResultRecord> results;
};

struct WorkerRecord {
  std::string name, operatorName;
  Digest certificate;
  std::string description;            // kiln.v1.WorkerDescription, serialised
  std::vector<std::string> targets;   // that it compiles for
  std::vector<std::string> runs;      // whose programs its healthy devices execute
  std::vector<std::string> emulates;  // whose programs its emulated devices execute
  std::vector<ActionKind> kinds;
  int slots = 1;  // leases that it takes at a time, by its own word; none: it takes nothing
  bool draining = false;
  TimePoint firstContact, lastContact;
  Digest key;               // of its certificate's public key, as SubjectPublicKeyInfo
  std::string peerAddress;  // that it calls from, without the port
  std::optional<std::vector<std::string>> instances;  // whose work it may have; nullopt: everybody's
};

struct ToolchainRecord {
  std::string instance, label;
  Digest toolchainDigest;   // of its tree's root Directory
  std::string description;  // toolchain.json
  std::vector<std::string> targets;
  bool isDefault = false;
  TimePoint added;
  std::optional<Digest> lock, admission;  // of the newest admission that names a lock, else of the newest
  std::optional<TimePoint> admitted;
};

// What was signed when a label was given, when its lock became known later, or when it was admitted again.
struct AdmissionRecord {
  std::string instance, label;
  std::optional<Digest> lock;
  Digest payload, bundle;
  TimePoint admitted;
};

// What a worker measured, with the signed statement that says so.
struct TuningRecordRow {
  std::string instance;
  Digest record;  // manifest/tuning/record.h
  std::string target;
  Digest payload, bundle;  // of the statement
  std::string worker, operatorName;
  std::string jobId;
  TimePoint recorded;
};

// What one record says of a kernel that it decided.
struct TuningEntryRow {
  std::string signature;
  std::string entry;  // {"schedule","template"}; "" where the default is best
};

// The same with that record. Of `record` the bundle and the job are left out.
struct KnownKernel {
  TuningEntryRow row;
  TuningRecordRow record;
};

struct FileRecord {
  std::string path, mediaType;
  Digest digest;
};

struct BundleRecord {
  Digest payload;  // of the signed statement
  Digest bundle;
  std::string predicateType;
  std::string jobId;
  TimePoint recorded;
  std::optional<Digest> signer = {};   // SHA-256 of the key that the bundle names; nothing: not read yet
  std::vector<Mention> mentions = {};  // when it is stored: its own ones
};

struct MaterialRecord {
  std::string kind;  // model, data (tuning.json too), toolchain, component
  std::string name, uri;
  Digest digest;
  auto operator<=>(const MaterialRecord&) const = default;
};

struct BuilderRecord {
  std::string worker, operatorName;
  auto operator<=>(const BuilderRecord&) const = default;
};

struct ArtifactRecord {
  std::string instance;
  Digest digest;  // the OCI image manifest
  Digest config;  // the Manifest
  std::string target, toolchainLabel;
  Digest toolchainDigest;
  std::optional<Digest> fixtures;  // REAPI Directory; its fixtures.json is in a statement
  TimePoint published;
  std::vector<FileRecord> files;
  std::vector<BundleRecord> bundles;  // oldest first; of one publication, the provenance first
  std::vector<BuilderRecord> builders;
  std::vector<std::string> jobs;
  std::vector<std::string> models;  // what its first 64 jobs called the model, 8 names at most, in order
};

// One publication: the artifact and a statement about it, with the edges that the statement names.
struct PublicationRecord {
  ArtifactRecord
      artifact;  // files filled; bundles, builders, jobs and models are taken from the fields below
  JobKey job;
  int targetOrdinal = 0;
  Digest action;
  BundleRecord bundle;
  std::vector<MaterialRecord> materials;
  std::vector<BuilderRecord> builders;
};

}  // namespace kiln::index
