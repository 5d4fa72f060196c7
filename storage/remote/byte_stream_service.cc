#include "storage/remote/byte_stream_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "storage/remote/resource_name.h"
#include "storage/remote/status.h"
#include "storage/remote/wire_limits.h"
#include "storage/remote/zstd_codec.h"

namespace kiln::storage {

namespace bytestream = google::bytestream;

namespace {

using Upload = UploadSessions::Upload;

// A compressed stream, in or out, with its place among all of them.
template <class Codec>
struct Compressed {
  Compressed(CodecSlots::Slot place, std::uint64_t size) : slot(std::move(place)), codec(size) {}
  CodecSlots::Slot slot;
  Codec codec;
};
using Inflow = Compressed<ZstdDecoder>;
using Outflow = Compressed<ZstdEncoder>;

// Writes one message's bytes; with the last of them the blob is committed.
Status takeMessage(const bytestream::WriteRequest& request, Upload& upload, std::optional<Inflow>& inflow) {
  const Bytes bytes = asBytes(request.data());
  if (!inflow) {
    KILN_TRY(upload.write(bytes));
  } else {
    KILN_TRY(inflow->codec.push(bytes, [&upload](Bytes plain) { return upload.write(plain); }));
    if (request.finish_write()) KILN_TRY(inflow->codec.finish());
  }
  return request.finish_write() ? upload.commit() : Status();
}

}  // namespace

grpc::Status ByteStreamService::Read(grpc::ServerContext*, const bytestream::ReadRequest* request,
                                     grpc::ServerWriter<bytestream::ReadResponse>* stream) {
  auto name = parseReadName(request->resource_name());
  if (!name) return toGrpc(name.error());
  if (request->read_offset() < 0) return toGrpc(Error{Code::kOutOfRange, "read_offset is negative"});
  if (request->read_limit() < 0) return toGrpc(Error{Code::kInvalidArgument, "read_limit is negative"});
  if (name->zstd && request->read_limit() != 0)
    return toGrpc(Error{Code::kInvalidArgument, "read_limit of a compressed read; leave it 0"});
  bytestream::ReadResponse response;
  const ByteSink send = [&](Bytes bytes) -> Status {
    while (!bytes.empty()) {
      Bytes chunk = bytes.first(std::min(bytes.size(), kStreamChunkBytes));
      response.set_data(chunk.data(), chunk.size());
      if (!stream->Write(response)) return fail(Code::kCancelled, "the client went away");
      bytes = bytes.subspan(chunk.size());
    }
    return {};
  };
  const auto offset = static_cast<std::uint64_t>(request->read_offset());
  const auto limit = static_cast<std::uint64_t>(request->read_limit());
  if (!name->zstd) return toGrpc(store_.read(name->instance, name->digest, offset, limit, send));

  std::optional<Outflow> outflow;
  // With the first bytes: those who may not read, or read what is not there, hold no slot.
  const auto begin = [&]() -> Status {
    if (outflow) return {};
    KILN_ASSIGN(CodecSlots::Slot slot, state_->codecs.take(name->instance));
    outflow.emplace(std::move(slot), name->digest.size - offset);
    return {};
  };
  Status status = store_.read(name->instance, name->digest, offset, 0, [&](Bytes bytes) -> Status {
    KILN_TRY(begin());
    return outflow->codec.push(bytes, send);
  });
  if (status) status = begin();
  return toGrpc(status ? outflow->codec.finish(send) : status);
}

Status ByteStreamService::receive(grpc::ServerReader<bytestream::WriteRequest>& stream,
                                  std::int64_t& committed) {
  bytestream::WriteRequest request;
  if (!stream.Read(&request)) return fail(Code::kInvalidArgument, "an upload without a message");
  const std::string first = request.resource_name();
  KILN_ASSIGN(ResourceName name, parseWriteName(first));
  if (name.digest.size > kMaxBlobBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("a blob of {} bytes; at most {} are taken", name.digest.size, kMaxBlobBytes));
  KILN_ASSIGN(bool present, hasBlob(store_, name.instance, name.digest));
  committed = name.zstd ? -1 : static_cast<std::int64_t>(name.digest.size);
  if (present) return {};

  std::int64_t next = request.write_offset();
  std::optional<Inflow> inflow;
  if (name.zstd) {
    const std::uint64_t left =
        name.digest.size - std::min<std::uint64_t>(name.digest.size, static_cast<std::uint64_t>(next));
    KILN_ASSIGN(CodecSlots::Slot slot, state_->codecs.take(name.instance));
    inflow.emplace(std::move(slot), left);
  }
  KILN_ASSIGN(const std::unique_ptr<Upload> upload, state_->uploads.open(store_, name, next));
  for (;;) {
    if (!request.resource_name().empty() && request.resource_name() != first)
      return fail(Code::kInvalidArgument, "the resource name changed within an upload");
    if (request.write_offset() != next)
      return fail(Code::kInvalidArgument,
                  fmt::format("write_offset {} where it goes on at {}; a stream has no gaps",
                              request.write_offset(), next));
    next += static_cast<std::int64_t>(request.data().size());
    committed = next;
    KILN_TRY(takeMessage(request, *upload, inflow));
    if (request.finish_write()) return {};
    if (!stream.Read(&request))
      return fail(Code::kAborted,
                  fmt::format("the upload ended after {} bytes without finish_write", upload->received()));
  }
}

grpc::Status ByteStreamService::Write(grpc::ServerContext*,
                                      grpc::ServerReader<bytestream::WriteRequest>* stream,
                                      bytestream::WriteResponse* response) {
  std::int64_t committed = 0;
  Status status = receive(*stream, committed);
  if (status) response->set_committed_size(committed);
  return toGrpc(status);
}

grpc::Status ByteStreamService::QueryWriteStatus(grpc::ServerContext*,
                                                 const bytestream::QueryWriteStatusRequest* request,
                                                 bytestream::QueryWriteStatusResponse* response) {
  auto name = parseWriteName(request->resource_name());
  if (!name) return toGrpc(name.error());
  auto present = hasBlob(store_, name->instance, name->digest);
  if (!present) return toGrpc(present.error());
  response->set_complete(*present);
  response->set_committed_size(
      static_cast<std::int64_t>(*present ? name->digest.size : state_->uploads.received(*name)));
  return grpc::Status::OK;
}

}  // namespace kiln::storage
