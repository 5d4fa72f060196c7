#include "storage/remote/read_stream.h"

#include <fmt/core.h>

namespace kiln::storage {

ReadStream::ReadStream(google::bytestream::ByteStream::Stub& stub, grpc::ClientContext& context,
                       const google::bytestream::ReadRequest& request, std::chrono::milliseconds patience)
    : context_(context),
      patience_(patience),
      until_(std::chrono::system_clock::now() + patience),
      stream_(stub.AsyncRead(&context, request, &queue_, this)) {
  wait();
}

ReadStream::~ReadStream() {
  queue_.Shutdown();
  void* tag = nullptr;
  for (bool ok = false; queue_.Next(&tag, &ok);) {
  }
}

bool ReadStream::wait() {
  void* tag = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&tag, &ok, until_) == grpc::CompletionQueue::TIMEOUT) {
    stalled_ = true;
    context_.TryCancel();
    queue_.Next(&tag, &ok);
  }
  return ok;
}

bool ReadStream::read(google::bytestream::ReadResponse& response) {
  // From now on, not from when it came: what the receiver did with it meanwhile is not the server's time.
  if (progressed_) until_ = std::chrono::system_clock::now() + patience_;
  stream_->Read(&response, this);
  if (!wait()) return false;
  progressed_ = !response.data().empty();
  return true;
}

grpc::Status ReadStream::finish() {
  grpc::Status status;
  stream_->Finish(&status, this);
  void* tag = nullptr;
  bool ok = false;
  queue_.Next(&tag, &ok);
  if (!stalled_) return status;
  return {grpc::StatusCode::DEADLINE_EXCEEDED,
          fmt::format("the server sent no new byte for {} s",
                      std::chrono::duration_cast<std::chrono::seconds>(patience_).count())};
}

}  // namespace kiln::storage
