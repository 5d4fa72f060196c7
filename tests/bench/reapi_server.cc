#include "tests/bench/reapi_server.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <set>

#include "storage/remote/status.h"
#include "storage/remote/wire_limits.h"

namespace kiln::bench {

namespace bytestream = google::bytestream;

namespace {

std::shared_ptr<grpc::Channel> connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

ReapiServer::ReapiServer(const std::string& address)
    : channel_(connect(address)),
      cas_(reapi::ContentAddressableStorage::NewStub(channel_)),
      cache_(reapi::ActionCache::NewStub(channel_)),
      execution_(reapi::Execution::NewStub(channel_)),
      streams_(bytestream::ByteStream::NewStub(channel_)) {}

Status ReapiServer::upload(const std::vector<Blob>& blobs) {
  grpc::ClientContext context;
  reapi::FindMissingBlobsRequest asked;
  reapi::FindMissingBlobsResponse answer;
  for (const Blob& blob : blobs) *asked.add_blob_digests() = toProto(blob.digest);
  KILN_TRY(statusFromGrpc(cas_->FindMissingBlobs(&context, asked, &answer), "FindMissingBlobs"));
  std::set<std::string> missing;
  for (const auto& digest : answer.missing_blob_digests()) missing.insert(digest.hash());
  reapi::BatchUpdateBlobsRequest batch;
  std::size_t bytes = 0;
  for (const Blob& blob : blobs) {
    if (!missing.contains(blob.digest.hex())) continue;
    if (bytes + blob.bytes.size() > storage::kMaxBatchBytes) KILN_TRY(send(batch, bytes));
    auto& item = *batch.add_requests();
    *item.mutable_digest() = toProto(blob.digest);
    item.set_data(blob.bytes);
    bytes += blob.bytes.size();
  }
  return batch.requests_size() > 0 ? send(batch, bytes) : Status();
}

// Sends the batch and begins the next one.
Status ReapiServer::send(reapi::BatchUpdateBlobsRequest& batch, std::size_t& bytes) {
  grpc::ClientContext context;
  reapi::BatchUpdateBlobsResponse response;
  KILN_TRY(statusFromGrpc(cas_->BatchUpdateBlobs(&context, batch, &response), "BatchUpdateBlobs"));
  for (const auto& one : response.responses()) KILN_TRY(fromRpcStatus(one.status()));
  batch.clear_requests();
  bytes = 0;
  return {};
}

Result<bool> ReapiServer::execute(const Digest& action) {
  grpc::ClientContext context;
  reapi::ExecuteRequest request;
  *request.mutable_action_digest() = toProto(action);
  const auto updates = execution_->Execute(&context, request);
  google::longrunning::Operation last;
  while (updates->Read(&last)) {
  }
  KILN_TRY(statusFromGrpc(updates->Finish(), "Execute"));
  reapi::ExecuteResponse response;
  if (!last.done() || !last.response().UnpackTo(&response))
    return fail(Code::kInternal, "Execute: " + last.ShortDebugString());
  if (response.status().code() != 0 || response.result().exit_code() != 0)
    return fail(Code::kInternal, "the action failed: " + response.ShortDebugString());
  return response.cached_result();
}

Status ReapiServer::getResult(const Digest& action) {
  grpc::ClientContext context;
  reapi::GetActionResultRequest request;
  reapi::ActionResult result;
  *request.mutable_action_digest() = toProto(action);
  return statusFromGrpc(cache_->GetActionResult(&context, request, &result), "GetActionResult");
}

Status ReapiServer::write(const std::string& name, std::string_view bytes) {
  grpc::ClientContext context;
  bytestream::WriteResponse response;
  const auto stream = streams_->Write(&context, &response);
  bytestream::WriteRequest request;
  request.set_resource_name(name);
  for (std::size_t at = 0; at < bytes.size(); at += storage::kStreamChunkBytes) {
    request.set_write_offset(static_cast<std::int64_t>(at));
    request.set_data(std::string(bytes.substr(at, storage::kStreamChunkBytes)));
    request.set_finish_write(at + storage::kStreamChunkBytes >= bytes.size());
    if (!stream->Write(request)) break;
    request.clear_resource_name();
  }
  stream->WritesDone();
  return statusFromGrpc(stream->Finish(), "Write");
}

Result<std::uint64_t> ReapiServer::read(const std::string& name) {
  grpc::ClientContext context;
  bytestream::ReadRequest request;
  request.set_resource_name(name);
  const auto stream = streams_->Read(&context, request);
  std::uint64_t bytes = 0;
  for (bytestream::ReadResponse response; stream->Read(&response);) bytes += response.data().size();
  KILN_TRY(statusFromGrpc(stream->Finish(), "Read"));
  return bytes;
}

}  // namespace kiln::bench
