// The gRPC edge of a farm in this process: real CAS services over a local store; jobs, artifacts, toolchains
// and workers as the test scripts them.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include "kiln/v1/artifact.grpc.pb.h"
#include "kiln/v1/job.grpc.pb.h"
#include "kiln/v1/maintenance.grpc.pb.h"
#include "kiln/v1/recall.grpc.pb.h"
#include "kiln/v1/worker.grpc.pb.h"
#include "storage/blob/local_blob_store.h"
#include "storage/remote/byte_stream_service.h"
#include "storage/remote/cas_service.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing_support {

// What the services answer. Set before the calls; read from gRPC's threads.
struct FarmScript {
  std::function<grpc::Status(const v1::SubmitJobRequest&, v1::Job*)> submit;
  std::vector<v1::Job> watch;  // streamed in order
  std::vector<v1::Job> jobs;
  std::map<std::string, v1::Artifact> artifacts;
  std::vector<v1::Toolchain> toolchains;
  std::atomic<int> unreadyToolchainCalls = 0;  // so many calls about toolchains find no database
  v1::ListWorkersResponse workers;
  v1::Queue queue;
  std::optional<v1::ListQueuesResponse> queues;  // nothing: the caller may not know
  v1::BuilderOutputs outputs;
  v1::JobLogs logs;
  v1::Recalls recalls, published;  // in force, and what the next publication is answered with
  v1::CollectGarbageResponse garbage;
  std::vector<v1::CollectGarbageRequest> collections;  // what came in
  std::vector<v1::AddTombstoneRequest> tombstones;     // likewise
  std::string grant;                                   // that lets a submission in
  std::vector<v1::SubmitJobRequest> submitted;         // what came in
  std::mutex mutex;                                    // of what came in
};

// There is the instance "default" and no other.
inline grpc::Status inInstance(const std::string& instance) {
  if (instance == "default") return grpc::Status::OK;
  return {grpc::StatusCode::NOT_FOUND,
          "--instance (KILN_INSTANCE): this farm has no instance \"" + instance + "\""};
}

class FakeJobs final : public v1::JobService::Service {
 public:
  explicit FakeJobs(FarmScript& script) : script_(script) {}
  grpc::Status SubmitJob(grpc::ServerContext* context, const v1::SubmitJobRequest* request,
                         v1::Job* job) override {
    {
      const std::lock_guard lock(script_.mutex);
      script_.submitted.push_back(*request);
    }
    if (!script_.grant.empty()) context->AddTrailingMetadata("kiln-grant", script_.grant);
    if (script_.submit) return script_.submit(*request, job);
    if (!script_.watch.empty()) *job = script_.watch.front();
    return grpc::Status::OK;
  }
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request, v1::Job* job) override {
    for (const auto& each : script_.jobs) {
      if (each.id() != request->id()) continue;
      *job = each;
      return grpc::Status::OK;
    }
    return {grpc::StatusCode::NOT_FOUND, "no job \"" + request->id() + "\""};
  }
  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    if (const grpc::Status there = inInstance(request->instance()); !there.ok()) return there;
    for (const auto& each : script_.jobs) {
      if (response->jobs_size() < request->limit()) *response->add_jobs() = each;
    }
    return grpc::Status::OK;
  }
  grpc::Status WatchJob(grpc::ServerContext*, const v1::GetJobRequest*,
                        grpc::ServerWriter<v1::Job>* stream) override {
    for (const auto& each : script_.watch) stream->Write(each);
    return grpc::Status::OK;
  }
  grpc::Status GetOutputs(grpc::ServerContext*, const v1::GetOutputsRequest* request,
                          v1::BuilderOutputs* outputs) override {
    if (request->worker() != script_.outputs.builder().worker())
      return {grpc::StatusCode::NOT_FOUND, "no such builder"};
    *outputs = script_.outputs;
    return grpc::Status::OK;
  }
  grpc::Status GetLogs(grpc::ServerContext*, const v1::GetLogsRequest* request, v1::JobLogs* logs) override {
    for (const auto& log : script_.logs.logs())
      if ((request->worker().empty() || request->worker() == log.builder().worker()) &&
          (request->attempt() == 0 || request->attempt() == log.attempt()))
        *logs->add_logs() = log;
    if (logs->logs().empty()) return {grpc::StatusCode::NOT_FOUND, "no log"};
    return grpc::Status::OK;
  }
  grpc::Status CancelJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                         v1::Job* job) override {
    const auto status = GetJob(context, request, job);
    if (job->state() == v1::JOB_QUEUED || job->state() == v1::JOB_RUNNING) job->set_state(v1::JOB_CANCELLED);
    return status;
  }

 private:
  FarmScript& script_;
};

class FakeIndex final : public v1::ArtifactService::Service {
 public:
  explicit FakeIndex(FarmScript& script) : script_(script) {}
  grpc::Status GetArtifact(grpc::ServerContext*, const v1::GetArtifactRequest* request,
                           v1::Artifact* artifact) override {
    const auto at = script_.artifacts.lower_bound(request->digest());
    if (at == script_.artifacts.end() || !at->first.starts_with(request->digest()))
      return {grpc::StatusCode::NOT_FOUND, "no artifact " + request->digest()};
    *artifact = at->second;
    return grpc::Status::OK;
  }
  grpc::Status ListArtifacts(grpc::ServerContext*, const v1::ListArtifactsRequest* request,
                             v1::ListArtifactsResponse* response) override {
    for (const auto& [digest, artifact] : script_.artifacts)
      if (digest > request->before() && response->artifacts_size() < request->limit())
        *response->add_artifacts() = artifact;
    return grpc::Status::OK;
  }

 private:
  FarmScript& script_;
};

class FakeToolchains final : public v1::ToolchainService::Service {
 public:
  explicit FakeToolchains(FarmScript& script) : script_(script) {}
  grpc::Status ListToolchains(grpc::ServerContext*, const v1::ListToolchainsRequest* request,
                              v1::ListToolchainsResponse* response) override {
    if (const grpc::Status there = inInstance(request->instance()); !there.ok()) return there;
    if (!isReady()) return notReady();
    for (const auto& each : script_.toolchains) *response->add_toolchains() = each;
    return grpc::Status::OK;
  }
  grpc::Status GetToolchain(grpc::ServerContext*, const v1::GetToolchainRequest* request,
                            v1::Toolchain* toolchain) override {
    for (const auto& each : script_.toolchains) {
      if (each.label() != request->name() && "sha256:" + each.toolchain_digest().hash() != request->name())
        continue;
      *toolchain = each;
      return grpc::Status::OK;
    }
    return {grpc::StatusCode::NOT_FOUND, "no toolchain \"" + request->name() + "\""};
  }
  grpc::Status AddToolchain(grpc::ServerContext*, const v1::AddToolchainRequest* request,
                            v1::Toolchain* toolchain) override {
    if (!isReady()) return notReady();
    toolchain->set_label(request->label());
    *toolchain->mutable_toolchain_digest() = request->toolchain_digest();
    toolchain->set_is_default(request->make_default());
    if (request->has_lock()) *toolchain->mutable_lock() = request->lock();
    toolchain->set_change("added");
    const std::lock_guard lock(script_.mutex);
    script_.toolchains.push_back(*toolchain);
    return grpc::Status::OK;
  }

 private:
  bool isReady() { return script_.unreadyToolchainCalls <= 0 || script_.unreadyToolchainCalls-- <= 0; }
  static grpc::Status notReady() {
    return {grpc::StatusCode::UNAVAILABLE, "the coordinator is starting and its database is not ready yet"};
  }

  FarmScript& script_;
};

class FakeFleet final : public v1::FleetService::Service {
 public:
  explicit FakeFleet(FarmScript& script) : script_(script) {}
  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                           v1::ListWorkersResponse* response) override {
    *response = script_.workers;
    return grpc::Status::OK;
  }
  grpc::Status GetQueue(grpc::ServerContext*, const v1::GetQueueRequest* request,
                        v1::Queue* response) override {
    *response = script_.queue;
    return inInstance(request->instance());
  }
  grpc::Status ListQueues(grpc::ServerContext*, const v1::ListQueuesRequest*,
                          v1::ListQueuesResponse* response) override {
    if (!script_.queues) return {grpc::StatusCode::PERMISSION_DENIED, "not for you"};
    *response = *script_.queues;
    return grpc::Status::OK;
  }

 private:
  FarmScript& script_;
};

class FakeMaintenance final : public v1::MaintenanceService::Service {
 public:
  explicit FakeMaintenance(FarmScript& script) : script_(script) {}
  grpc::Status CollectGarbage(grpc::ServerContext*, const v1::CollectGarbageRequest* request,
                              v1::CollectGarbageResponse* response) override {
    const std::lock_guard lock(script_.mutex);
    script_.collections.push_back(*request);
    *response = script_.garbage;
    response->set_dry_run(request->dry_run());
    return grpc::Status::OK;
  }
  grpc::Status AddTombstone(grpc::ServerContext*, const v1::AddTombstoneRequest* request,
                            v1::Artifact* artifact) override {
    const std::lock_guard lock(script_.mutex);
    script_.tombstones.push_back(*request);
    artifact->set_digest(request->artifact());
    return grpc::Status::OK;
  }

 private:
  FarmScript& script_;
};

class FakeRecalls final : public v1::RecallService::Service {
 public:
  explicit FakeRecalls(FarmScript& script) : script_(script) {}
  grpc::Status GetRecalls(grpc::ServerContext*, const v1::GetRecallsRequest*, v1::Recalls* recalls) override {
    *recalls = script_.recalls;
    return grpc::Status::OK;
  }
  grpc::Status PublishRecalls(grpc::ServerContext*, const v1::PublishRecallsRequest*,
                              v1::Recalls* recalls) override {
    *recalls = script_.published;
    return grpc::Status::OK;
  }

 private:
  FarmScript& script_;
};

class FakeFarm {
 public:
  // Serves `store`, which must outlive it.
  explicit FakeFarm(storage::BlobStore& store) : cas_(store), bytes_(store) { start(); }
  ~FakeFarm() { stop(); }

  void start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(endpoint(), grpc::InsecureServerCredentials());
    for (grpc::Service* service : std::initializer_list<grpc::Service*>{
             &jobs_, &index_, &toolchains_, &fleet_, &maintenance_, &recalls_, &cas_, &bytes_}) {
      builder.RegisterService(service);
    }
    server_ = builder.BuildAndStart();
  }
  void stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
    server_.reset();
  }
  std::string endpoint() const { return "unix:" + directory_.path() + "/farm.sock"; }

  FarmScript script;

 private:
  TempDirectory directory_;
  FakeJobs jobs_{script};
  FakeIndex index_{script};
  FakeToolchains toolchains_{script};
  FakeFleet fleet_{script};
  FakeMaintenance maintenance_{script};
  FakeRecalls recalls_{script};
  storage::CasService cas_;
  storage::ByteStreamService bytes_;
  std::unique_ptr<grpc::Server> server_;
};

// A job as the coordinator would tell it.
inline v1::Job jobIn(v1::JobState state, std::uint64_t revision) {
  v1::Job job;
  job.set_id("job-1");
  job.set_instance("default");
  job.set_state(state);
  job.set_revision(revision);
  job.set_model_name("model.onnx");
  job.set_toolchain_label("kiln-test");
  auto& action = *job.add_actions();
  action.set_kind(v1::ACTION_COMPILE);
  action.set_target("cpu:x86-64-v3");
  action.set_state(state == v1::JOB_QUEUED ? "queued" : state == v1::JOB_RUNNING ? "running" : "done");
  action.set_stage(state == v1::JOB_RUNNING ? "codegen" : "");
  action.set_attempt(1);
  auto& artifact = *job.add_artifacts();
  artifact.set_target("cpu:x86-64-v3");
  if (state == v1::JOB_SUCCEEDED) {
    artifact.set_digest("sha256:" + std::string(64, 'a'));
    artifact.add_builders("w1");
  }
  return job;
}

}  // namespace kiln::testing_support
