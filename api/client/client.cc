#include "api/client/client.h"

#include <grpcpp/create_channel.h>

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
#include "storage/remote/remote_blob_store.h"
#include "storage/tree/digest_proto.h"

namespace kiln::client {
namespace {
constexpr std::chrono::seconds kStays{10};
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
    return fail(Code::kInvalidArgument,
                "no farm is named; source the kiln.env that infra/up wrote, or give --endpoint unix:/path");
  }
  // It goes with every request, and names every blob.
  if (!isUtf8(options.instance))
    return fail(Code::kInvalidArgument,
                "--instance (KILN_INSTANCE): \"" + printable(options.instance) + "\" is not UTF-8");
  KILN_ASSIGN(const auto credentials, storage::channelCredentials(options.endpoint, options.credentials));
  return std::unique_ptr<Client>(new Client(std::move(options), credentials));
}

Client::Client(ClientOptions options, const std::shared_ptr<grpc::ChannelCredentials>& credentials)
    : options_(std::move(options)), retryPolicy_(options_.retryTimeout, options_.waiting) {
  channel_ =
      grpc::CreateCustomChannel(options_.endpoint, credentials, storage::channelArguments(options_.endpoint));
  stubs_ = std::make_unique<Stubs>(channel_);
  remote_ = std::make_unique<storage::RemoteBlobStore>(channel_);
  blobs_ = std::make_unique<RetryingBlobStore>(*remote_, retryPolicy_,
                                               [this](Error error) { return explain(std::move(error)); });
}

Client::~Client() = default;

template <class Response, class Stub, class Request>
Result<Response> Client::call(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                              const Request& request, std::optional<std::chrono::milliseconds> deadline) {
  KILN_TRY(checkText(request));
  return retryPolicy_([&] { return attempt<Response>(stub, method, request, deadline); });
}

// What has not been sent can be tried again.
template <class Response, class Stub, class Request>
Result<Response> Client::callOnce(Stub& stub,
                                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                               Response*),
                                  const Request& request) {
  KILN_TRY(checkText(request));
  KILN_TRY(retryPolicy_([&] { return connect(); }));
  return attempt<Response>(stub, method, request);
}

template <class Response, class Stub, class Request>
Result<Response> Client::attempt(Stub& stub,
                                 grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                              Response*),
                                 const Request& request, std::optional<std::chrono::milliseconds> deadline) {
  KILN_TRY(checkListener(*channel_, options_.endpoint));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + deadline.value_or(options_.deadline));
  Response response;
  const auto status = (stub.*method)(&context, request, &response);
  if (!status.ok()) return fail(rpcError(status, *channel_, options_.endpoint));
  return response;
}

// Whether there is a connection, or one comes about in the time of a call.
Status Client::connect() {
  KILN_TRY(checkListener(*channel_, options_.endpoint));
  const auto until = std::chrono::system_clock::now() + options_.deadline;
  for (auto state = channel_->GetState(true); state != GRPC_CHANNEL_READY; state = channel_->GetState(true))
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || !channel_->WaitForStateChange(state, until))
      return fail(unreachable(options_.endpoint));
  return {};
}

Status Client::ping() {
  v1::ListJobsRequest request;
  request.set_instance(options_.instance);
  request.set_limit(1);
  KILN_TRY(call<v1::ListJobsResponse>(stubs_->jobs, &v1::JobService::Stub::ListJobs, request));
  return {};
}

Error Client::explain(Error error) const {
  const bool reached = error.code != Code::kUnavailable || channel_->GetState(false) == GRPC_CHANNEL_READY;
  return reached ? answeredFrom(options_.endpoint, std::move(error)) : unreachable(options_.endpoint);
}

Error Client::unreadable(const Error& error) const {
  return error.asEvidence("the farm at " + options_.endpoint);
}

Result<storage::UploadProgress> Client::upload(std::span<const storage::UploadItem> items) {
  return retryPolicy_([&] {
    return storage::uploadMissing(*remote_, instance(), items).map_error([&](Error error) {
      return explain(std::move(error));
    });
  });
}

Result<v1::Job> Client::submit(v1::SubmitJobRequest request) {
  request.set_instance(options_.instance);
  return call<v1::Job>(stubs_->jobs, &v1::JobService::Stub::SubmitJob, request);
}

Result<v1::Job> Client::job(const std::string& id) {
  v1::GetJobRequest request;
  request.set_instance(options_.instance);
  request.set_id(id);
  return call<v1::Job>(stubs_->jobs, &v1::JobService::Stub::GetJob, request);
}

Result<v1::BuilderOutputs> Client::outputs(const std::string& job, const std::string& worker,
                                           const std::string& target) {
  v1::GetOutputsRequest request;
  request.set_instance(options_.instance);
  request.set_job(job);
  request.set_worker(worker);
  request.set_target(target);
  return call<v1::BuilderOutputs>(stubs_->jobs, &v1::JobService::Stub::GetOutputs, request);
}

Result<v1::JobLogs> Client::logs(const std::string& job, const std::string& worker, const std::string& target,
                                 int attempt) {
  v1::GetLogsRequest request;
  request.set_instance(options_.instance);
  request.set_job(job);
  request.set_worker(worker);
  request.set_target(target);
  request.set_attempt(attempt);
  return call<v1::JobLogs>(stubs_->jobs, &v1::JobService::Stub::GetLogs, request);
}

Result<v1::Job> Client::cancel(const std::string& id) {
  v1::GetJobRequest request;
  request.set_instance(options_.instance);
  request.set_id(id);
  return call<v1::Job>(stubs_->jobs, &v1::JobService::Stub::CancelJob, request);
}

Result<std::vector<v1::Job>> Client::jobs(int limit, const std::string& before) {
  v1::ListJobsRequest request;
  request.set_instance(options_.instance);
  request.set_limit(limit);
  request.set_before(before);
  KILN_ASSIGN(const auto response,
              call<v1::ListJobsResponse>(stubs_->jobs, &v1::JobService::Stub::ListJobs, request));
  return std::vector<v1::Job>(response.jobs().begin(), response.jobs().end());
}

// A server that stops ends its streams.
Error Client::brokenOff() const {
  return {Code::kUnavailable,
          "the farm at " + options_.endpoint + " ended the watch before the job had ended",
          {}};
}

Result<v1::Job> Client::watch(const std::string& id, const std::function<Status(const v1::Job&)>& onChange) {
  v1::GetJobRequest request;
  request.set_instance(options_.instance);
  request.set_id(id);
  KILN_TRY(checkText(request));
  std::optional<v1::Job> last;
  // A farm is back when it says what the job is, even if that was known: but once, until there is news or it
  // has stayed for a while. Else one that says so again and again and breaks off is waited for without end.
  bool mayRepeat = true;
  for (RetryPolicy::Attempts attempts(retryPolicy_);;) {
    if (auto listens = checkListener(*channel_, options_.endpoint); !listens) {
      if (!attempts.again(listens.error())) return fail(std::move(listens).error());
      continue;
    }
    grpc::ClientContext context;
    const auto reader = stubs_->jobs.WatchJob(&context, request);
    std::optional<std::chrono::steady_clock::time_point> answered;
    for (v1::Job job; reader->Read(&job);) {
      if (!answered) answered = std::chrono::steady_clock::now();
      const bool changed = !last || job.revision() != last->revision();
      if (changed || mayRepeat) attempts.answered();
      mayRepeat = changed;
      last = std::move(job);
      if (!changed) continue;
      if (auto status = onChange(*last); !status) {
        context.TryCancel();
        return fail(status.error());
      }
    }
    const auto status = reader->Finish();
    if (last && hasEnded(*last)) return std::move(*last);
    if (answered && std::chrono::steady_clock::now() - *answered >= kStays) {
      attempts.answered();
      mayRepeat = true;
    }
    auto error = status.ok() ? brokenOff() : rpcError(status, *channel_, options_.endpoint);
    if (!attempts.again(error)) return fail(std::move(error));
  }
}

Result<v1::Artifact> Client::artifact(const std::string& digest) {
  v1::GetArtifactRequest request;
  request.set_instance(options_.instance);
  request.set_digest(digest);
  return call<v1::Artifact>(stubs_->artifacts, &v1::ArtifactService::Stub::GetArtifact, request);
}

Result<std::vector<v1::Artifact>> Client::artifacts(int limit) {
  v1::ListArtifactsRequest request;
  request.set_instance(options_.instance);
  request.set_limit(limit);
  KILN_ASSIGN(
      const auto response,
      call<v1::ListArtifactsResponse>(stubs_->artifacts, &v1::ArtifactService::Stub::ListArtifacts, request));
  return std::vector<v1::Artifact>(response.artifacts().begin(), response.artifacts().end());
}

Result<std::vector<v1::Toolchain>> Client::toolchains() {
  v1::ListToolchainsRequest request;
  request.set_instance(options_.instance);
  KILN_ASSIGN(const auto response,
              call<v1::ListToolchainsResponse>(stubs_->toolchains,
                                               &v1::ToolchainService::Stub::ListToolchains, request));
  return std::vector<v1::Toolchain>(response.toolchains().begin(), response.toolchains().end());
}

Result<v1::Toolchain> Client::toolchain(const std::string& name) {
  v1::GetToolchainRequest request;
  request.set_instance(options_.instance);
  request.set_name(name);
  return call<v1::Toolchain>(stubs_->toolchains, &v1::ToolchainService::Stub::GetToolchain, request);
}

Result<v1::Toolchain> Client::addToolchain(const std::string& label, const Digest& toolchainDigest,
                                           const std::optional<Digest>& lock, bool makeDefault) {
  v1::AddToolchainRequest request;
  request.set_instance(options_.instance);
  request.set_label(label);
  *request.mutable_toolchain_digest() = toProto(toolchainDigest);
  request.set_make_default(makeDefault);
  if (lock) *request.mutable_lock() = toProto(*lock);
  return call<v1::Toolchain>(stubs_->toolchains, &v1::ToolchainService::Stub::AddToolchain, request);
}

Result<std::vector<v1::ListWorkersResponse::Worker>> Client::workers() {
  v1::ListWorkersRequest request;
  request.set_instance(options_.instance);
  KILN_ASSIGN(const auto response,
              call<v1::ListWorkersResponse>(stubs_->fleet, &v1::FleetService::Stub::ListWorkers, request));
  return std::vector<v1::ListWorkersResponse::Worker>(response.workers().begin(), response.workers().end());
}

Result<v1::CollectGarbageResponse> Client::collectGarbage(std::chrono::seconds grace, bool dryRun) {
  constexpr std::chrono::hours kTimeout{24};
  v1::CollectGarbageRequest request;
  request.set_dry_run(dryRun);
  if (grace > std::chrono::seconds::zero()) request.mutable_grace()->set_seconds(grace.count());
  return call<v1::CollectGarbageResponse>(stubs_->maintenance, &v1::MaintenanceService::Stub::CollectGarbage,
                                          request, kTimeout);
}

Result<Digest> Client::addAttestation(const Digest& artifact, const std::string& bundle) {
  v1::AddAttestationRequest request;
  request.set_instance(options_.instance);
  request.set_artifact(artifact.text());
  request.set_bundle(bundle);
  KILN_ASSIGN(const auto kept,
              callOnce<v1::Attestation>(stubs_->attestations, &v1::AttestationService::Stub::AddAttestation,
                                        request));
  return Digest::parse(kept.bundle(), 0).map_error([&](const Error& error) { return unreadable(error); });
}

Result<std::string> Client::recalls() {
  auto found =
      call<v1::Recalls>(stubs_->recalls, &v1::RecallService::Stub::GetRecalls, v1::GetRecallsRequest());
  // A farm of an earlier release has none.
  if (!found && found.error().code == Code::kUnimplemented) return std::string();
  if (!found) return fail(std::move(found).error());
  return found->document();
}

Result<std::string> Client::logCheckpoint() {
  KILN_ASSIGN(const auto found, call<v1::Recalls>(stubs_->recalls, &v1::RecallService::Stub::GetRecalls,
                                                  v1::GetRecallsRequest()));
  return found.checkpoint();
}

Result<std::string> Client::publishRecalls(const std::string& document) {
  v1::PublishRecallsRequest request;
  request.set_document(document);
  KILN_ASSIGN(const auto done,
              callOnce<v1::Recalls>(stubs_->recalls, &v1::RecallService::Stub::PublishRecalls, request));
  return done.document();
}

Result<v1::Artifact> Client::addTombstone(const std::string& artifact, const std::string& reason) {
  v1::AddTombstoneRequest request;
  request.set_instance(options_.instance);
  request.set_artifact(artifact);
  request.set_reason(reason);
  return callOnce<v1::Artifact>(stubs_->maintenance, &v1::MaintenanceService::Stub::AddTombstone, request);
}

bool hasEnded(const v1::Job& job) {
  return job.state() == v1::JOB_SUCCEEDED || job.state() == v1::JOB_FAILED ||
         job.state() == v1::JOB_CANCELLED;
}

}  // namespace kiln::client
