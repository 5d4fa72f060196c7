// One stream of Operations: the answer of Execute or of WaitExecution.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <chrono>
#include <memory>

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"

namespace kiln::cluster {

namespace reapi = ::build::bazel::remote::execution::v2;

// Unlike the synchronous stream it can be waited for with a limit. Not thread safe; the stub must outlive it.
// Destroying it closes the stream, which tells the server that nobody waits any more.
class OperationStream {
 public:
  enum class Event { kUpdate, kEnded, kQuiet };

  OperationStream(reapi::Execution::Stub& stub, const reapi::ExecuteRequest& request);
  OperationStream(reapi::Execution::Stub& stub, const reapi::WaitExecutionRequest& request);
  ~OperationStream();
  OperationStream(const OperationStream&) = delete;
  OperationStream& operator=(const OperationStream&) = delete;

  // The next update in `operation`; kQuiet if there is none until `until`; kEnded, from then on, at the end.
  Event next(google::longrunning::Operation& operation, std::chrono::system_clock::time_point until);
  // How it ended, after kEnded.
  const grpc::Status& status() const { return status_; }

 private:
  void end();

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReader<google::longrunning::Operation>> stream_;
  google::longrunning::Operation message_;
  grpc::Status status_;
  bool begun_ = false, ended_ = false;
};

}  // namespace kiln::cluster
