// A Remote Execution cluster in this process, small and honest, until a test tells it how to lie.
#pragma once

#include <google/protobuf/empty.pb.h>
#include <grpcpp/impl/codegen/method_handler.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "tests/worker/cluster/cluster_blobs.h"

namespace kiln::cluster {

using google::longrunning::Operation;

// google.longrunning.Operations as far as a client has operations cancelled. Its request has the one field
// that WaitExecution's has.
class CancelledOperations final : public grpc::Service {
 public:
  CancelledOperations() {
    using Self = CancelledOperations;
    using Request = reapi::WaitExecutionRequest;
    using Handler =
        grpc::internal::RpcMethodHandler<Self, Request, google::protobuf::Empty, grpc::protobuf::MessageLite,
                                         grpc::protobuf::MessageLite>;
    const auto cancel = [](Self* self, grpc::ServerContext*, const Request* request,
                           google::protobuf::Empty*) {
      const MutexLock lock(self->mutex_);
      self->names_.push_back(request->name());
      return grpc::Status::OK;
    };
    AddMethod(new grpc::internal::RpcServiceMethod("/google.longrunning.Operations/CancelOperation",
                                                   grpc::internal::RpcMethod::NORMAL_RPC,
                                                   new Handler(cancel, this)));
  }
  std::vector<std::string> names() {
    const MutexLock lock(mutex_);
    return names_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> names_;
};

// What a cluster says of itself: what a test fills in.
class StatedCapabilities final : public reapi::Capabilities::Service {
 public:
  reapi::ServerCapabilities said;
  std::atomic<bool> known = true;  // the call is

  grpc::Status GetCapabilities(grpc::ServerContext*, const reapi::GetCapabilitiesRequest*,
                               reapi::ServerCapabilities* response) override {
    *response = said;
    return known ? grpc::Status::OK : grpc::Status(grpc::UNIMPLEMENTED, "no such call");
  }
};

// What one call of Execute or WaitExecution does with its stream.
using Answer = std::function<grpc::Status(grpc::ServerContext&, grpc::ServerWriter<Operation>&)>;

class LyingCluster final : public reapi::Execution::Service {
 public:
  explicit LyingCluster(const std::string& socket) : address("unix:" + socket) { start(); }
  ~LyingCluster() override { die(); }
  // As if its processes were killed: streams break, and nobody answers.
  void die() { server_->Shutdown(std::chrono::system_clock::now()); }
  // After that; what it has is what `blobs` has.
  void start() {
    grpc::ServerBuilder builder;
    server_.reset();
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<reapi::ContentAddressableStorage::Service*>(&blobs));
    builder.RegisterService(static_cast<google::bytestream::ByteStream::Service*>(&blobs));
    builder.RegisterService(&capabilities);
    builder.RegisterService(this);
    builder.RegisterService(&operations);
    server_ = builder.BuildAndStart();
  }

  const std::string address;
  ClusterBlobs blobs;
  StatedCapabilities capabilities;
  CancelledOperations operations;
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
