// ByteStream as a client of REAPI speaks it, message by message: uploads that break off and go on.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "google/bytestream/bytestream.grpc.pb.h"
#include "storage/remote/wire_limits.h"

namespace kiln::storage {

namespace bytestream = google::bytestream;

class WireClient {
 public:
  explicit WireClient(const std::shared_ptr<grpc::Channel>& channel)
      : streams_(bytestream::ByteStream::NewStub(channel)) {}

  struct Answer {
    grpc::StatusCode code = grpc::OK;
    std::int64_t committed = 0;
    std::string message;
  };
  // Sends `text` from its place `from` on, in messages whose offsets begin with `offset`. Without `finish`
  // the stream ends in the middle; with `cancel` it is given up.
  struct Sent {
    std::string text;
    std::int64_t offset = 0;
    bool finish = true;
    bool cancel = false;
  };
  Answer upload(const std::string& name, const Sent& sent) {
    grpc::ClientContext context;
    bytestream::WriteResponse response;
    auto stream = streams_->Write(&context, &response);
    std::size_t at = 0;
    bool open = true;
    do {
      bytestream::WriteRequest request;
      if (at == 0) request.set_resource_name(name);
      request.set_write_offset(sent.offset + static_cast<std::int64_t>(at));
      request.set_data(sent.text.substr(at, 1 << 20));
      at += request.data().size();
      request.set_finish_write(sent.finish && at == sent.text.size());
      open = stream->Write(request);
    } while (open && at < sent.text.size());
    if (sent.cancel) context.TryCancel();
    stream->WritesDone();
    const grpc::Status status = stream->Finish();
    return {status.error_code(), response.committed_size(), status.error_message()};
  }
  Answer read(const std::string& name, std::int64_t offset, std::int64_t limit, std::string& out) {
    grpc::ClientContext context;
    bytestream::ReadRequest request;
    request.set_resource_name(name);
    request.set_read_offset(offset);
    request.set_read_limit(limit);
    auto stream = streams_->Read(&context, request);
    bytestream::ReadResponse response;
    while (stream->Read(&response)) {
      EXPECT_LE(response.data().size(), kStreamChunkBytes);
      out += response.data();
    }
    const grpc::Status status = stream->Finish();
    return {status.error_code(), 0, status.error_message()};
  }
  // Where an upload goes on; -1 where it is complete.
  std::int64_t goesOnAt(const std::string& name) {
    grpc::ClientContext context;
    bytestream::QueryWriteStatusRequest request;
    request.set_resource_name(name);
    bytestream::QueryWriteStatusResponse response;
    EXPECT_TRUE(streams_->QueryWriteStatus(&context, request, &response).ok());
    return response.complete() ? -1 : response.committed_size();
  }
  // Until the server has seen that the stream is gone.
  std::int64_t waitForOffset(const std::string& name) {
    for (int i = 0; i < 1000; ++i) {
      if (const std::int64_t at = goesOnAt(name);
          at != 0 && upload(name, {"", at, false}).code == grpc::ABORTED)
        return at;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return 0;
  }

 private:
  const std::unique_ptr<bytestream::ByteStream::Stub> streams_;
};

}  // namespace kiln::storage
