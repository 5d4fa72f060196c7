// One download stream.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <chrono>
#include <memory>

#include "google/bytestream/bytestream.grpc.pb.h"

namespace kiln::storage {

// The deadline of `context` is that of all messages together; here each new byte has one, too: a server may
// say at length that it is still there. Not thread safe; `stub` and `context` must outlive it.
class ReadStream {
 public:
  ReadStream(google::bytestream::ByteStream::Stub& stub, grpc::ClientContext& context,
             const google::bytestream::ReadRequest& request, std::chrono::milliseconds patience);
  ~ReadStream();
  ReadStream(const ReadStream&) = delete;
  ReadStream& operator=(const ReadStream&) = delete;

  // The next message, which may be empty; false if there is none, or no new byte has come in time.
  bool read(google::bytestream::ReadResponse& response);
  // Once, after the last message or after the context was cancelled. DEADLINE_EXCEEDED if no new byte came in
  // time.
  grpc::Status finish();

 private:
  // For what was asked of the stream last.
  bool wait();

  grpc::ClientContext& context_;
  const std::chrono::milliseconds patience_;
  std::chrono::system_clock::time_point until_;
  bool progressed_ = false, stalled_ = false;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReader<google::bytestream::ReadResponse>> stream_;
};

}  // namespace kiln::storage
