// One RPC within this process, for a caller over HTTP, by the types that its descriptor names.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <optional>

#include "coordinator/access/gate.h"
#include "manifest/base/clock.h"

namespace kiln::server {

// Not thread safe. Destroying it ends the call.
class RelayedCall {
 public:
  // Begins it. The answers must come within `limit`.
  RelayedCall(const std::shared_ptr<grpc::Channel>& channel, const google::protobuf::MethodDescriptor& method,
              const google::protobuf::Message& request, const access::Credentials& caller, Duration limit);
  ~RelayedCall();
  RelayedCall(const RelayedCall&) = delete;
  RelayedCall& operator=(const RelayedCall&) = delete;

  enum class Next { kMessage, kEnd, kNothingYet };
  // Waits for an answer that is not there yet for at most `patience`: read() has it then, end() says how it
  // ended.
  Next next(Duration patience);
  const google::protobuf::Message& read() const { return *answer_; }
  // Waits for the end where it has not been seen.
  grpc::Status end();

 private:
  bool step();  // waits for what was begun; whether it went well
  void beginRead();

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<google::protobuf::Message> answer_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer bytes_;
  bool reading_ = false;
  std::optional<grpc::Status> ended_;
};

}  // namespace kiln::server
