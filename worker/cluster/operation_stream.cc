#include "worker/cluster/operation_stream.h"

namespace kiln::cluster {

OperationStream::OperationStream(reapi::Execution::Stub& stub, const reapi::ExecuteRequest& request)
    : stream_(stub.AsyncExecute(&context_, request, &queue_, this)) {}

OperationStream::OperationStream(reapi::Execution::Stub& stub, const reapi::WaitExecutionRequest& request)
    : stream_(stub.AsyncWaitExecution(&context_, request, &queue_, this)) {}

OperationStream::~OperationStream() {
  context_.TryCancel();
  queue_.Shutdown();
  void* tag = nullptr;
  for (bool ok = false; queue_.Next(&tag, &ok);) {
  }
}

void OperationStream::end() {
  void* tag = nullptr;
  bool ok = false;
  stream_->Finish(&status_, this);
  queue_.Next(&tag, &ok);
  ended_ = true;
}

OperationStream::Event OperationStream::next(google::longrunning::Operation& operation,
                                             std::chrono::system_clock::time_point until) {
  while (!ended_) {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::TIMEOUT) return Event::kQuiet;
    if (!ok) {
      end();
      break;
    }
    const bool isMessage = begun_;
    begun_ = true;
    if (isMessage) operation.Swap(&message_);
    message_.Clear();
    stream_->Read(&message_, this);
    if (isMessage) return Event::kUpdate;
  }
  return Event::kEnded;
}

}  // namespace kiln::cluster
