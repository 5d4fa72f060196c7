// One upload stream.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "google/bytestream/bytestream.grpc.pb.h"
#include "storage/blob/blob_store.h"

namespace kiln::storage {

// Cancels the stream unless committed, so that the server drops what it received.
class RemoteWriter final : public BlobWriter {
 public:
  // Told what the server said in the end.
  using Verdict = std::function<void(const Status&)>;
  // `name` as writeName().
  RemoteWriter(google::bytestream::ByteStream::Stub& stub, std::string name, const Digest& digest,
               std::chrono::system_clock::time_point deadline, Verdict said);
  ~RemoteWriter() override;
  Status write(Bytes bytes) override;
  Status commit() override;

 private:
  Status send(bool last);
  // The server's verdict. Success before everything was sent means that the blob was there already.
  Status finish();

  const Digest digest_;
  const std::string name_;
  grpc::ClientContext context_;
  google::bytestream::WriteResponse response_;
  std::unique_ptr<grpc::ClientWriter<google::bytestream::WriteRequest>> stream_;
  google::bytestream::WriteRequest next_;  // the message that is being filled
  std::uint64_t accepted_ = 0;             // given to write()
  std::uint64_t sent_ = 0;
  bool finished_ = false;
  Status verdict_;
  const Verdict said_;
};

}  // namespace kiln::storage
