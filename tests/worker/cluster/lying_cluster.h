// A Remote Execution cluster in this process, small and honest, until a test tells it how to lie.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "manifest/base/mutex.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cluster {

namespace reapi = ::build::bazel::remote::execution::v2;
using google::longrunning::Operation;

// A CAS that takes and gives whatever it has, under any instance name.
class ClusterBlobs final : public reapi::ContentAddressableStorage::Service,
                           public google::bytestream::ByteStream::Service {
 public:
  Digest put(const std::string& bytes) {
    const Digest digest = digestOf(bytes);
    const MutexLock lock(mutex_);
    blobs_[digest.hex()] = bytes;
    return digest;
  }
  // Has other bytes under this digest than its own.
  void set(const Digest& digest, const std::string& bytes) {
    const MutexLock lock(mutex_);
    blobs_[digest.hex()] = bytes;
  }
  void forget(const Digest& digest) {
    const MutexLock lock(mutex_);
    blobs_.erase(digest.hex());
  }
  bool has(const Digest& digest) {
    const MutexLock lock(mutex_);
    return blobs_.contains(digest.hex());
  }
  std::string get(const std::string& hex) {
    const MutexLock lock(mutex_);
    const auto found = blobs_.find(hex);
    return found == blobs_.end() ? "" : found->second;
  }
  // Instance names of all calls, and how many uploads there were.
  std::set<std::string> instances() {
    const MutexLock lock(mutex_);
    return instances_;
  }
  std::atomic<int> uploads = 0;
  std::atomic<bool> claimsAll = false;  // says that nothing is missing, whatever it has

  grpc::Status FindMissingBlobs(grpc::ServerContext*, const reapi::FindMissingBlobsRequest* request,
                                reapi::FindMissingBlobsResponse* response) override {
    const MutexLock lock(mutex_);
    instances_.insert(request->instance_name());
    for (const auto& digest : request->blob_digests())
      if (!claimsAll && !blobs_.contains(digest.hash())) *response->add_missing_blob_digests() = digest;
    return grpc::Status::OK;
  }
  grpc::Status BatchUpdateBlobs(grpc::ServerContext*, const reapi::BatchUpdateBlobsRequest* request,
                                reapi::BatchUpdateBlobsResponse* response) override {
    const MutexLock lock(mutex_);
    for (const auto& item : request->requests()) {
      ++uploads;
      blobs_[item.digest().hash()] = item.data();
      *response->add_responses()->mutable_digest() = item.digest();
    }
    return grpc::Status::OK;
  }
  grpc::Status Write(grpc::ServerContext*, grpc::ServerReader<google::bytestream::WriteRequest>* stream,
                     google::bytestream::WriteResponse* response) override {
    google::bytestream::WriteRequest request;
    std::string name, bytes;
    while (stream->Read(&request)) {
      if (!request.resource_name().empty()) name = request.resource_name();
      bytes += request.data();
    }
    ++uploads;
    const MutexLock lock(mutex_);
    blobs_[hashIn(name)] = bytes;
    response->set_committed_size(static_cast<std::int64_t>(bytes.size()));
    return grpc::Status::OK;
  }
  grpc::Status Read(grpc::ServerContext*, const google::bytestream::ReadRequest* request,
                    grpc::ServerWriter<google::bytestream::ReadResponse>* stream) override {
    const std::string hex = hashIn(request->resource_name());
    {
      const MutexLock lock(mutex_);
      if (!blobs_.contains(hex)) return {grpc::StatusCode::NOT_FOUND, "no such blob"};
    }
    const std::string bytes = get(hex).substr(static_cast<std::size_t>(request->read_offset()));
    google::bytestream::ReadResponse response;
    response.set_data(request->read_limit() == 0
                          ? bytes
                          : bytes.substr(0, static_cast<std::size_t>(request->read_limit())));
    stream->Write(response);
    return grpc::Status::OK;
  }

 private:
  // ".../blobs/HASH/SIZE"
  static std::string hashIn(const std::string& name) {
    const std::size_t at = name.rfind("blobs/");
    return at == std::string::npos ? "" : name.substr(at + 6, 64);
  }

  Mutex mutex_;
  std::map<std::string, std::string> blobs_;
  std::set<std::string> instances_;
};

// What one call of Execute or WaitExecution does with its stream.
using Answer = std::function<grpc::Status(grpc::ServerContext&, grpc::ServerWriter<Operation>&)>;

class LyingCluster final : public reapi::Execution::Service {
 public:
  explicit LyingCluster(const std::string& socket) : address("unix:" + socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<reapi::ContentAddressableStorage::Service*>(&blobs));
    builder.RegisterService(static_cast<google::bytestream::ByteStream::Service*>(&blobs));
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~LyingCluster() override { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string address;
  ClusterBlobs blobs;
  // The result of an action that ran: what a test makes of the honest one.
  std::function<void(reapi::ExecuteResponse&)> lie = [](reapi::ExecuteResponse&) {};
  // What the calls do, in this order; when they are used up, the honest thing.
  std::vector<Answer> executes, waits;
  std::atomic<int> executed = 0, waited = 0;
  std::atomic<bool> cancelled = false;  // some stream was closed before its end
  reapi::ExecuteRequest lastRequest;
  reapi::Action lastAction;
  reapi::Command lastCommand;

  grpc::Status Execute(grpc::ServerContext* context, const reapi::ExecuteRequest* request,
                       grpc::ServerWriter<Operation>* stream) override {
    lastRequest = *request;
    lastAction.ParseFromString(blobs.get(request->action_digest().hash()));
    lastCommand.ParseFromString(blobs.get(lastAction.command_digest().hash()));
    const auto number = static_cast<std::size_t>(executed++);
    return number < executes.size() ? executes[number](*context, *stream) : finish(*stream);
  }
  grpc::Status WaitExecution(grpc::ServerContext* context, const reapi::WaitExecutionRequest*,
                             grpc::ServerWriter<Operation>* stream) override {
    const auto number = static_cast<std::size_t>(waited++);
    return number < waits.size() ? waits[number](*context, *stream) : finish(*stream);
  }

  Operation update(reapi::ExecutionStage::Value stage) const {
    reapi::ExecuteOperationMetadata metadata;
    metadata.set_stage(stage);
    *metadata.mutable_action_digest() = lastRequest.action_digest();
    Operation operation;
    operation.set_name("operations/1");
    operation.mutable_metadata()->PackFrom(metadata);
    return operation;
  }

  // Runs the action: its output tells which input root it saw.
  reapi::ExecuteResponse honest() {
    reapi::Tree tree;
    auto* file = tree.mutable_root()->add_files();
    file->set_name("program.so");
    *file->mutable_digest() = toProto(blobs.put("made of " + lastAction.input_root_digest().hash()));
    reapi::Directory below;
    auto* weights = below.add_files();
    weights->set_name("0.bin");
    weights->set_is_executable(true);
    *weights->mutable_digest() = toProto(blobs.put("weights"));
    auto* node = tree.mutable_root()->add_directories();
    node->set_name("weights");
    *node->mutable_digest() = toProto(blobs.put(below.SerializeAsString()));
    *tree.add_children() = below;
    reapi::ExecuteResponse response;
    auto* directory = response.mutable_result()->add_output_directories();
    directory->set_path(lastCommand.output_paths_size() == 0 ? "?" : lastCommand.output_paths(0));
    *directory->mutable_tree_digest() = toProto(blobs.put(tree.SerializeAsString()));
    response.mutable_result()->set_stderr_raw("stage: codegen\n");
    return response;
  }

  grpc::Status finish(grpc::ServerWriter<Operation>& stream) {
    reapi::ExecuteResponse response = honest();
    lie(response);
    Operation operation = update(reapi::ExecutionStage::COMPLETED);
    operation.set_done(true);
    operation.mutable_response()->PackFrom(response);
    stream.Write(operation);
    return grpc::Status::OK;
  }

  // Violations for these subjects, as a status.
  static google::rpc::Status missing(const std::vector<std::string>& subjects) {
    google::rpc::PreconditionFailure failure;
    for (const std::string& subject : subjects) {
      auto* violation = failure.add_violations();
      violation->set_type("MISSING");
      violation->set_subject(subject);
    }
    google::rpc::Status status;
    status.set_code(static_cast<int>(grpc::StatusCode::FAILED_PRECONDITION));
    status.set_message("inputs are missing");
    status.add_details()->PackFrom(failure);
    return status;
  }

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace kiln::cluster
