#include "storage/remote/remote_writer.h"

#include <fmt/core.h>

#include <algorithm>

#include "storage/remote/status.h"
#include "storage/remote/wire_limits.h"

namespace kiln::storage {

RemoteWriter::RemoteWriter(google::bytestream::ByteStream::Stub& stub, std::string name, const Digest& digest,
                           std::chrono::system_clock::time_point deadline, Verdict said)
    : digest_(digest), name_(std::move(name)), said_(std::move(said)) {
  context_.set_deadline(deadline);
  stream_ = stub.Write(&context_, &response_);
}

RemoteWriter::~RemoteWriter() {
  if (finished_) return;
  context_.TryCancel();
  (void)stream_->Finish();
}

Status RemoteWriter::finish() {
  if (finished_) return verdict_;
  finished_ = true;
  grpc::Status status = stream_->Finish();
  verdict_ = statusFromGrpc(status, fmt::format("uploading {}", digest_.text()));
  if (verdict_ && response_.committed_size() != static_cast<std::int64_t>(digest_.size))
    verdict_ = fail(Code::kInternal, fmt::format("the server committed {} of {} bytes of {}",
                                                 response_.committed_size(), digest_.size, digest_.text()));
  said_(verdict_);
  return verdict_;
}

Status RemoteWriter::send(bool last) {
  if (sent_ == 0)
    next_.set_resource_name(name_);
  else
    next_.clear_resource_name();
  next_.set_write_offset(static_cast<std::int64_t>(sent_));
  next_.set_finish_write(last);
  sent_ += next_.data().size();
  const bool taken = stream_->Write(next_);
  next_.mutable_data()->clear();  // what it has room for is filled again
  return taken ? Status() : finish();
}

Status RemoteWriter::write(Bytes bytes) {
  if (bytes.size() > digest_.size - accepted_)
    return fail(Code::kInvalidArgument,
                fmt::format("more bytes than the {} declared for {}", digest_.size, digest_.text()));
  accepted_ += bytes.size();
  while (!bytes.empty() && !finished_) {
    std::string& data = *next_.mutable_data();
    std::size_t take = std::min(bytes.size(), kStreamChunkBytes - data.size());
    data.append(reinterpret_cast<const char*>(bytes.data()), take);
    bytes = bytes.subspan(take);
    if (data.size() == kStreamChunkBytes) KILN_TRY(send(false));
  }
  return finished_ ? verdict_ : Status{};
}

Status RemoteWriter::commit() {
  if (!finished_) KILN_TRY(send(true));
  if (!finished_) stream_->WritesDone();
  return finish();
}

}  // namespace kiln::storage
