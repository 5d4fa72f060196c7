#include "storage/remote/byte_stream_service.h"

#include <fmt/core.h>

#include <algorithm>

#include "storage/remote/resource_name.h"
#include "storage/remote/status.h"
#include "storage/remote/wire_limits.h"

namespace kiln::storage {

namespace bytestream = google::bytestream;

grpc::Status ByteStreamService::Read(grpc::ServerContext*, const bytestream::ReadRequest* request,
                                     grpc::ServerWriter<bytestream::ReadResponse>* stream) {
  auto name = parseReadName(request->resource_name());
  if (!name) return toGrpc(name.error());
  if (request->read_offset() < 0) return toGrpc(Error{Code::kOutOfRange, "read_offset is negative"});
  if (request->read_limit() < 0) return toGrpc(Error{Code::kInvalidArgument, "read_limit is negative"});
  bytestream::ReadResponse response;
  auto send = [&](Bytes bytes) -> Status {
    while (!bytes.empty()) {
      Bytes chunk = bytes.first(std::min(bytes.size(), kStreamChunkBytes));
      response.set_data(chunk.data(), chunk.size());
      if (!stream->Write(response)) return fail(Code::kCancelled, "the client went away");
      bytes = bytes.subspan(chunk.size());
    }
    return {};
  };
  return toGrpc(store_.read(name->instance, name->digest, static_cast<std::uint64_t>(request->read_offset()),
                            static_cast<std::uint64_t>(request->read_limit()), send));
}

Status ByteStreamService::receive(grpc::ServerReader<bytestream::WriteRequest>& stream,
                                  std::int64_t& committed) {
  bytestream::WriteRequest request;
  if (!stream.Read(&request)) return fail(Code::kInvalidArgument, "an upload without a message");
  const std::string first = request.resource_name();
  KILN_ASSIGN(ResourceName name, parseWriteName(first));
  KILN_ASSIGN(bool present, hasBlob(store_, name.instance, name.digest));
  committed = static_cast<std::int64_t>(name.digest.size);
  if (present) return {};

  KILN_ASSIGN(auto writer, store_.beginWrite(name.instance, name.digest));
  std::int64_t received = 0;
  for (;;) {
    if (!request.resource_name().empty() && request.resource_name() != first)
      return fail(Code::kInvalidArgument, "the resource name changed within an upload");
    if (request.write_offset() != received)
      return fail(
          Code::kInvalidArgument,
          fmt::format("write_offset {} where {} bytes were received; uploads start at 0 and have no gaps",
                      request.write_offset(), received));
    KILN_TRY(writer->write(asBytes(request.data())));
    received += static_cast<std::int64_t>(request.data().size());
    if (request.finish_write()) return writer->commit();
    if (!stream.Read(&request))
      return fail(Code::kAborted,
                  fmt::format("the upload ended after {} bytes without finish_write", received));
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
  response->set_committed_size(*present ? static_cast<std::int64_t>(name->digest.size) : 0);
  return grpc::Status::OK;
}

}  // namespace kiln::storage
