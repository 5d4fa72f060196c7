#include "storage/remote/cas_service.h"

#include <fmt/core.h>

#include "storage/remote/status.h"
#include "storage/remote/wire_limits.h"

namespace kiln::storage {
namespace {

Status checkBatch(std::uint64_t bytes, std::size_t blobs) {
  if (bytes <= kMaxBatchBytes && blobs <= kMaxBatchBlobs) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("a batch of {} blobs with {} bytes; at most {} with {}: use ByteStream for large blobs",
                  blobs, bytes, kMaxBatchBlobs, kMaxBatchBytes));
}

}  // namespace

grpc::Status CasService::FindMissingBlobs(grpc::ServerContext*, const reapi::FindMissingBlobsRequest* request,
                                          reapi::FindMissingBlobsResponse* response) {
  if (static_cast<std::size_t>(request->blob_digests_size()) > kMaxFindMissing)
    return toGrpc(
        Error{Code::kInvalidArgument, fmt::format("more than {} digests in one call", kMaxFindMissing)});
  std::vector<Digest> digests;
  for (const auto& wire : request->blob_digests()) {
    auto digest = fromProto(wire);
    if (!digest) return toGrpc(digest.error());
    digests.push_back(*digest);
  }
  auto missing = store_.findMissing(request->instance_name(), digests);
  if (!missing) return toGrpc(missing.error());
  for (const Digest& digest : *missing) *response->add_missing_blob_digests() = toProto(digest);
  return grpc::Status::OK;
}

grpc::Status CasService::BatchUpdateBlobs(grpc::ServerContext*, const reapi::BatchUpdateBlobsRequest* request,
                                          reapi::BatchUpdateBlobsResponse* response) {
  std::uint64_t bytes = 0;
  for (const auto& item : request->requests()) bytes += item.data().size();
  if (Status good = checkBatch(bytes, static_cast<std::size_t>(request->requests_size())); !good)
    return toGrpc(good);

  std::vector<BlobBytes> blobs;
  std::vector<int> places;  // of `blobs` in the request
  for (int i = 0; i < request->requests_size(); ++i) {
    const auto& item = request->requests(i);
    auto* answer = response->add_responses();
    *answer->mutable_digest() = item.digest();
    auto digest = fromProto(item.digest());
    if (!digest) {
      *answer->mutable_status() = toRpcStatus(fail(digest.error()));
      continue;
    }
    blobs.push_back({*digest, asBytes(item.data())});
    places.push_back(i);
  }
  std::vector<Status> statuses = store_.putBatch(request->instance_name(), blobs);
  for (std::size_t i = 0; i < statuses.size(); ++i)
    *response->mutable_responses(places[i])->mutable_status() = toRpcStatus(statuses[i]);
  return grpc::Status::OK;
}

grpc::Status CasService::BatchReadBlobs(grpc::ServerContext*, const reapi::BatchReadBlobsRequest* request,
                                        reapi::BatchReadBlobsResponse* response) {
  std::uint64_t bytes = 0;
  for (const auto& wire : request->digests())
    bytes += wire.size_bytes() < 0
                 ? 0
                 : std::min<std::uint64_t>(static_cast<std::uint64_t>(wire.size_bytes()), kMaxBatchBytes + 1);
  if (Status good = checkBatch(bytes, static_cast<std::size_t>(request->digests_size())); !good)
    return toGrpc(good);

  for (const auto& wire : request->digests()) {
    auto* answer = response->add_responses();
    *answer->mutable_digest() = wire;
    auto digest = fromProto(wire);
    if (!digest) {
      *answer->mutable_status() = toRpcStatus(fail(digest.error()));
      continue;
    }
    auto blob = getBlob(store_, request->instance_name(), *digest, kMaxBatchBytes);
    if (blob)
      answer->set_data(std::move(*blob));
    else
      *answer->mutable_status() = toRpcStatus(fail(blob.error()));
  }
  return grpc::Status::OK;
}

}  // namespace kiln::storage
