#include "api/client/client.h"

#include <algorithm>
#include <optional>

#include "api/client/request_text.h"
#include "api/client/retrying_blob_store.h"
#include "api/client/rpc_error.h"
#include "kiln/v1/artifact.grpc.pb.h"
#include "kiln/v1/attestation.grpc.pb.h"
#include "kiln/v1/job.grpc.pb.h"
#include "kiln/v1/maintenance.grpc.pb.h"
#include "kiln/v1/recall.grpc.pb.h"
#include "kiln/v1/worker.grpc.pb.h"
#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"
#include "storage/direct/direct_blob_store.h"
#include "storage/remote/remote_blob_store.h"
#include "storage/tracing/trace_context.h"
#include "storage/tree/digest_proto.h"

namespace kiln::client {
namespace {

constexpr char kGrantTrailer[] = "kiln-grant";
constexpr std::size_t kMaxGrantBytes = 64;  // as the access file allows

// Of what a server says beside its answer; "" if it does not say that.
std::string valueOf(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata, const char* name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

// Connections come about while a wait pauses.
RetryPolicy::Listener pausing(RetryPolicy::Listener listener, std::shared_ptr<storage::Endpoints> endpoints) {
  listener.pause = [endpoints = std::move(endpoints)](std::chrono::nanoseconds time) {
    endpoints->pause(time);
  };
  return listener;
}

}  // namespace

struct Client::Stubs {
  explicit Stubs(const std::shared_ptr<grpc::Channel>& channel)
      : jobs(channel),
        artifacts(channel),
        toolchains(channel),
        fleet(channel),
        maintenance(channel),
        recalls(channel),
        attestations(channel) {}
  v1::JobService::Stub jobs;
  v1::ArtifactService::Stub artifacts;
  v1::ToolchainService::Stub toolchains;
  v1::FleetService::Stub fleet;
  v1::MaintenanceService::Stub maintenance;
  v1::RecallService::Stub recalls;
  v1::AttestationService::Stub attestations;
};

Result<std::unique_ptr<Client>> Client::open(ClientOptions options) {
  if (options.endpoint.empty()) {
    return fail(
        Code::kInvalidArgument,
        "no farm is named; source the kiln.env that infra/up wrote, give --endpoint unix:/path, or name a "
        "farm with kiln config add");
  }
  // It goes with every request, and names every blob.
  if (!isUtf8(options.instance))
    return fail(Code::kInvalidArgument,
                "--instance (KILN_INSTANCE): \"" + printable(options.instance) + "\" is not UTF-8");
  KILN_ASSIGN(auto endpoints, storage::Endpoints::open(options.endpoint, options.credentials));
  return std::unique_ptr<Client>(new Client(std::move(options), std::move(endpoints)));
}

Client::Client(ClientOptions options, std::shared_ptr<storage::Endpoints> endpoints)
    : options_(std::move(options)),
      retryPolicy_(options_.retryTimeout, pausing(options_.waiting, endpoints)),
      endpoints_(std::move(endpoints)),
      // blobs_ hashes what is read.
      coordinator_(std::make_unique<storage::RemoteBlobStore>(
          endpoints_, storage::RemoteBlobStoreOptions{.hashesReads = false})),
      remote_(std::make_unique<storage::DirectBlobStore>(endpoints_, *coordinator_)),
      blobs_(std::make_unique<RetryingBlobStore>(*remote_, retryPolicy_,
                                                 [this](Error error) { return explain(std::move(error)); })) {
  for (const storage::Endpoint& one : endpoints_->all())
    stubs_.push_back(std::make_unique<Stubs>(one.channel));
}

Client::~Client() = default;

void Client::Round::answered(const storage::Endpoint& at) {
  if (first_ && client_.options_.movedOn) client_.options_.movedOn(first_->name, at.name);
}

void Client::Round::failed(const storage::Endpoint& at, Error& error) {
  if (client_.endpoints_->all().size() == 1) return;
  if (!first_) first_ = &at;
  if (!isUnreachable(error)) {
    if (!error.message.starts_with(at.name)) error.message = at.name + ": " + error.message;
    said_ = error;
  }
  error = said_ ? *said_ : unreachable(client_.endpoints_->names());
}

template <class Response, class Stub, class Request>
Result<Response> Client::call(Stub Stubs::* service, Method<Response, Stub, Request> method,
                              const Request& request, std::optional<std::chrono::milliseconds> deadline) {
  KILN_TRY(checkText(request));
  return retried(
      [&](const storage::Endpoint& at) { return attempt<Response>(at, service, method, request, deadline); });
}

// What has not been sent can be tried again.
template <class Response, class Stub, class Request>
Result<Response> Client::callOnce(Stub Stubs::* service, Method<Response, Stub, Request> method,
                                  const Request& request) {
  KILN_TRY(checkText(request));
  KILN_ASSIGN(const storage::Endpoint* at, connect());
  auto answer = attempt<Response>(*at, service, method, request);
  if (!answer && storage::isAway(answer.error())) endpoints_->failed(*at);
  return answer;
}

template <class Response, class Stub, class Request>
Result<Response> Client::attempt(const storage::Endpoint& at, Stub Stubs::* service,
                                 Method<Response, Stub, Request> method, const Request& request,
                                 std::optional<std::chrono::milliseconds> deadline) {
  KILN_TRY(checkListener(*at.channel, at.name));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + deadline.value_or(options_.deadline));
  Response response;
  const auto status = ((*stubs_[at.place]).*service.*method)(&context, request, &response);
  if (!status.ok()) return fail(rpcError(status, *at.channel, at.name));
  return response;
}

// One to which there is a connection.
Result<const storage::Endpoint*> Client::connect() {
  return retried([&](const storage::Endpoint& at) -> Result<const storage::Endpoint*> {
    KILN_TRY(connectTo(at));
    return &at;
  });
}

// Whether there is a connection, or one comes about in the time of a call.
Status Client::connectTo(const storage::Endpoint& at) {
  KILN_TRY(checkListener(*at.channel, at.name));
  const auto until = std::chrono::system_clock::now() + options_.deadline;
  for (auto state = at.channel->GetState(true); state != GRPC_CHANNEL_READY;
       state = at.channel->GetState(true))
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || !at.channel->WaitForStateChange(state, until))
      return fail(unreachable(at.name));
  return {};
}

Status Client::pingAt(const storage::Endpoint& at) {
  v1::ListJobsRequest request;
  request.set_instance(options_.instance);
  request.set_limit(1);
  KILN_TRY(attempt<v1::ListJobsResponse>(at, &Stubs::jobs, &v1::JobService::Stub::ListJobs, request));
  return {};
}

Status Client::ping() {
  return retried([&](const storage::Endpoint& at) { return pingAt(at); });
}

std::vector<std::pair<std::string, Status>> Client::pingEach() {
  std::vector<std::pair<std::string, Status>> out;
  for (const storage::Endpoint& one : endpoints_->all()) out.emplace_back(one.name, pingAt(one));
  return out;
}

Error Client::explain(Error error) const {
  const bool reached = error.code != Code::kUnavailable ||
                       std::ranges::any_of(endpoints_->all(), [](const storage::Endpoint& one) {
                         return one.channel->GetState(false) == GRPC_CHANNEL_READY;
                       });
  return reached ? answeredFrom(endpoints_->names(), std::move(error)) : unreachable(endpoints_->names());
}

Error Client::unreadable(const Error& error) const {
  return error.asEvidence("the farm at " + endpoints_->names());
}

// A blob that was under way when its coordinator failed goes up again, and only that.
Result<storage::UploadProgress> Client::upload(std::span<const storage::UploadItem> items,
                                               const storage::UploadObserver& observer) {
  return retryPolicy_([&]() -> Result<storage::UploadProgress> {
    for (std::size_t others = endpoints_->all().size() - 1;; --others) {
      auto done = storage::uploadMissing(*remote_, instance(), items, observer);
      if (done || !storage::isAway(done.error()) || others == 0)
        return done.map_error([&](Error error) { return explain(std::move(error)); });
    }
  });
}

Result<Submission> Client::submit(v1::SubmitJobRequest request, SubmissionTrace* trace) {
  request.set_instance(options_.instance);
  KILN_TRY(checkText(request));
  return retried([&](const storage::Endpoint& at) -> Result<Submission> {
    KILN_TRY(checkListener(*at.channel, at.name));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + options_.deadline);
    if (trace) context.AddMetadata(tracing::kTraceparent, trace->caller);
    Submission made;
    const grpc::Status status = stubs_[at.place]->jobs.SubmitJob(&context, request, &made.job);
    if (!status.ok()) return fail(rpcError(status, *at.channel, at.name));
    if (trace) trace->job = valueOf(context.GetServerInitialMetadata(), tracing::kTraceparent);
    made.grant = printable(valueOf(context.GetServerTrailingMetadata(), kGrantTrailer), kMaxGrantBytes);
    return made;
  });
}

Result<v1::Job> Client::job(const std::string& id) {
  v1::GetJobRequest request;
  request.set_instance(options_.instance);
  request.set_id(id);
  return call<v1::Job>(&Stubs::jobs, &v1::JobService::Stub::GetJob, request);
}

Result<v1::BuilderOutputs> Client::outputs(const std::string& job, const std::string& worker,
                                           const std::string& target) {
  v1::GetOutputsRequest request;
  request.set_instance(options_.instance);
  request.set_job(job);
  request.set_worker(worker);
  request.set_target(target);
  return call<v1::BuilderOutputs>(&Stubs::jobs, &v1::JobService::Stub::GetOutputs, request);
}

Result<v1::JobLogs> Client::logs(const std::string& job, const std::string& worker, const std::string& target,
                                 int attempt) {
  v1::GetLogsRequest request;
  request.set_instance(options_.instance);
  request.set_job(job);
  request.set_worker(worker);
  request.set_target(target);
  request.set_attempt(attempt);
  return call<v1::JobLogs>(&Stubs::jobs, &v1::JobService::Stub::GetLogs, request);
}

Result<v1::Job> Client::cancel(const std::string& id) {
  v1::GetJobRequest request;
  request.set_instance(options_.instance);
  request.set_id(id);
  return call<v1::Job>(&Stubs::jobs, &v1::JobService::Stub::CancelJob, request);
}

Result<std::vector<v1::Job>> Client::jobs(int limit, const std::string& before) {
  v1::ListJobsRequest request;
  request.set_instance(options_.instance);
  request.set_limit(limit);
  request.set_before(before);
  KILN_ASSIGN(const auto response,
              call<v1::ListJobsResponse>(&Stubs::jobs, &v1::JobService::Stub::ListJobs, request));
  return std::vector<v1::Job>(response.jobs().begin(), response.jobs().end());
}

// A server that stops ends its streams.
Error Client::brokenOff(const storage::Endpoint& at) const {
  return {Code::kUnavailable, "the farm at " + at.name + " ended the watch before the job had ended", {}};
}

// One stream of one coordinator, to its end.
Status Client::watchAt(const storage::Endpoint& at, const v1::GetJobRequest& request, WatchedJob& watched) {
  KILN_TRY(checkListener(*at.channel, at.name));
  grpc::ClientContext context;
  const auto reader = stubs_[at.place]->jobs.WatchJob(&context, request);
  watched.begin();
  v1::Job job;
  while (!watched.isOver() && reader->Read(&job)) watched.take(std::move(job));
  if (watched.isOver()) context.TryCancel();
  const auto status = reader->Finish();
  watched.end();
  if (watched.isOver()) return {};
  return fail(status.ok() ? brokenOff(at) : rpcError(status, *at.channel, at.name));
}

Result<v1::Job> Client::watch(const std::string& id, const std::function<Status(const v1::Job&)>& onChange) {
  v1::GetJobRequest request;
  request.set_instance(options_.instance);
  request.set_id(id);
  KILN_TRY(checkText(request));
  RetryPolicy::Attempts attempts(retryPolicy_);
  WatchedJob watched(attempts, onChange);
  const auto follow = [&](const storage::Endpoint& at) { return watchAt(at, request, watched); };
  for (;;) {
    Status over = anywhere(follow);
    if (over) return watched.result();
    if (!attempts.again(over.error())) return fail(std::move(over).error());
  }
}

Result<v1::Artifact> Client::artifact(const std::string& digest) {
  v1::GetArtifactRequest request;
  request.set_instance(options_.instance);
  request.set_digest(digest);
  return call<v1::Artifact>(&Stubs::artifacts, &v1::ArtifactService::Stub::GetArtifact, request);
}

Result<std::vector<v1::Artifact>> Client::artifacts(int limit, const std::string& before) {
  v1::ListArtifactsRequest request;
  request.set_instance(options_.instance);
  request.set_limit(limit);
  request.set_before(before);
  KILN_ASSIGN(
      const auto response,
      call<v1::ListArtifactsResponse>(&Stubs::artifacts, &v1::ArtifactService::Stub::ListArtifacts, request));
  return std::vector<v1::Artifact>(response.artifacts().begin(), response.artifacts().end());
}

Result<std::vector<v1::Toolchain>> Client::toolchains() {
  v1::ListToolchainsRequest request;
  request.set_instance(options_.instance);
  KILN_ASSIGN(const auto response,
              call<v1::ListToolchainsResponse>(&Stubs::toolchains,
                                               &v1::ToolchainService::Stub::ListToolchains, request));
  return std::vector<v1::Toolchain>(response.toolchains().begin(), response.toolchains().end());
}

Result<v1::Toolchain> Client::toolchain(const std::string& name) {
  v1::GetToolchainRequest request;
  request.set_instance(options_.instance);
  request.set_name(name);
  return call<v1::Toolchain>(&Stubs::toolchains, &v1::ToolchainService::Stub::GetToolchain, request);
}

Result<v1::Toolchain> Client::addToolchain(const std::string& label, const Digest& toolchainDigest,
                                           const std::optional<Digest>& lock, bool makeDefault) {
  v1::AddToolchainRequest request;
  request.set_instance(options_.instance);
  request.set_label(label);
  *request.mutable_toolchain_digest() = toProto(toolchainDigest);
  request.set_make_default(makeDefault);
  if (lock) *request.mutable_lock() = toProto(*lock);
  return call<v1::Toolchain>(&Stubs::toolchains, &v1::ToolchainService::Stub::AddToolchain, request);
}

Result<std::vector<v1::ListWorkersResponse::Worker>> Client::workers() {
  v1::ListWorkersRequest request;
  request.set_instance(options_.instance);
  KILN_ASSIGN(const auto response,
              call<v1::ListWorkersResponse>(&Stubs::fleet, &v1::FleetService::Stub::ListWorkers, request));
  return std::vector<v1::ListWorkersResponse::Worker>(response.workers().begin(), response.workers().end());
}

Result<v1::Queue> Client::queue() {
  v1::GetQueueRequest request;
  request.set_instance(options_.instance);
  return call<v1::Queue>(&Stubs::fleet, &v1::FleetService::Stub::GetQueue, request);
}

Result<v1::ListQueuesResponse> Client::queues() {
  return call<v1::ListQueuesResponse>(&Stubs::fleet, &v1::FleetService::Stub::ListQueues,
                                      v1::ListQueuesRequest());
}

Result<v1::CollectGarbageResponse> Client::collectGarbage(std::chrono::seconds grace, bool dryRun) {
  constexpr std::chrono::hours kTimeout{24};
  v1::CollectGarbageRequest request;
  request.set_dry_run(dryRun);
  if (grace > std::chrono::seconds::zero()) request.mutable_grace()->set_seconds(grace.count());
  return call<v1::CollectGarbageResponse>(&Stubs::maintenance, &v1::MaintenanceService::Stub::CollectGarbage,
                                          request, kTimeout);
}

Result<Digest> Client::addAttestation(const Digest& artifact, const std::string& bundle) {
  v1::AddAttestationRequest request;
  request.set_instance(options_.instance);
  request.set_artifact(artifact.text());
  request.set_bundle(bundle);
  KILN_ASSIGN(const auto kept,
              callOnce<v1::Attestation>(&Stubs::attestations, &v1::AttestationService::Stub::AddAttestation,
                                        request));
  return Digest::parse(kept.bundle(), 0).map_error([&](const Error& error) { return unreadable(error); });
}

Result<std::string> Client::recalls() {
  auto found =
      call<v1::Recalls>(&Stubs::recalls, &v1::RecallService::Stub::GetRecalls, v1::GetRecallsRequest());
  // A farm of an earlier release has none.
  if (!found && found.error().code == Code::kUnimplemented) return std::string();
  if (!found) return fail(std::move(found).error());
  return found->document();
}

Result<std::string> Client::logCheckpoint() {
  KILN_ASSIGN(const auto found, call<v1::Recalls>(&Stubs::recalls, &v1::RecallService::Stub::GetRecalls,
                                                  v1::GetRecallsRequest()));
  return found.checkpoint();
}

Result<std::string> Client::publishRecalls(const std::string& document) {
  v1::PublishRecallsRequest request;
  request.set_document(document);
  KILN_ASSIGN(const auto done,
              callOnce<v1::Recalls>(&Stubs::recalls, &v1::RecallService::Stub::PublishRecalls, request));
  return done.document();
}

Result<v1::Artifact> Client::addTombstone(const std::string& artifact, const std::string& reason) {
  v1::AddTombstoneRequest request;
  request.set_instance(options_.instance);
  request.set_artifact(artifact);
  request.set_reason(reason);
  return callOnce<v1::Artifact>(&Stubs::maintenance, &v1::MaintenanceService::Stub::AddTombstone, request);
}

}  // namespace kiln::client
