#include "storage/remote/cas_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>

#include "storage/remote/reapi_rules.h"
#include "storage/remote/status.h"
#include "storage/remote/tree_pages.h"
#include "storage/remote/wire_limits.h"
#include "storage/remote/zstd_codec.h"

namespace kiln::storage {
namespace {

// The instance of a request that keeps to what REAPI says of every one.
template <class Request>
Result<std::string> instanceOf(const Request& request) {
  KILN_TRY(checkDigestFunction(request.digest_function()));
  KILN_TRY(checkReapiInstance(request.instance_name()));
  return instanceNamed(request.instance_name());
}

// What a blob counts for, if its digest is one.
std::uint64_t bytesOf(const reapi::Digest& digest) {
  return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(digest.size_bytes(), 0)),
                  kMaxBatchBytes + 1);
}

Status checkBatch(std::uint64_t bytes, int blobs) {
  if (bytes <= kMaxBatchBytes && static_cast<std::size_t>(blobs) <= kMaxBatchBlobs) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("a batch of {} blobs with {} bytes; at most {} with {}: use ByteStream for large blobs",
                  blobs, bytes, kMaxBatchBlobs, kMaxBatchBytes));
}

// The blobs of a batch, and the texts that had to be decompressed.
struct Batch {
  std::vector<BlobBytes> blobs;
  std::vector<int> places;        // of `blobs` in the request
  std::deque<std::string> texts;  // whose addresses stay
};

Status add(const reapi::BatchUpdateBlobsRequest::Request& item, int place, Batch& batch) {
  KILN_ASSIGN(const Digest digest, fromProto(item.digest()));
  if (item.compressor() == reapi::Compressor::IDENTITY) {
    batch.blobs.push_back({digest, asBytes(item.data())});
  } else if (item.compressor() == reapi::Compressor::ZSTD) {
    KILN_ASSIGN(std::string text, zstdDecompress(item.data(), digest.size));
    batch.texts.push_back(std::move(text));
    batch.blobs.push_back({digest, asBytes(batch.texts.back())});
  } else {
    return fail(Code::kInvalidArgument, fmt::format("compressor {} is not served; use IDENTITY or ZSTD",
                                                    static_cast<int>(item.compressor())));
  }
  batch.places.push_back(place);
  return {};
}

}  // namespace

grpc::Status CasService::FindMissingBlobs(grpc::ServerContext*, const reapi::FindMissingBlobsRequest* request,
                                          reapi::FindMissingBlobsResponse* response) {
  const auto instance = instanceOf(*request);
  if (!instance) return toGrpc(instance.error());
  if (static_cast<std::size_t>(request->blob_digests_size()) > kMaxFindMissing)
    return toGrpc(
        Error{Code::kInvalidArgument, fmt::format("more than {} digests in one call", kMaxFindMissing)});
  std::vector<Digest> digests;
  for (const auto& wire : request->blob_digests()) {
    auto digest = fromProto(wire);
    if (!digest) return toGrpc(digest.error());
    digests.push_back(*digest);
  }
  auto missing = store_.findMissing(*instance, digests);
  if (!missing) return toGrpc(missing.error());
  for (const Digest& digest : *missing) *response->add_missing_blob_digests() = toProto(digest);
  return grpc::Status::OK;
}

grpc::Status CasService::BatchUpdateBlobs(grpc::ServerContext*, const reapi::BatchUpdateBlobsRequest* request,
                                          reapi::BatchUpdateBlobsResponse* response) {
  const auto instance = instanceOf(*request);
  if (!instance) return toGrpc(instance.error());
  std::uint64_t sent = 0, declared = 0;
  for (const auto& item : request->requests()) {
    sent += item.data().size();
    declared +=
        item.compressor() == reapi::Compressor::IDENTITY ? item.data().size() : bytesOf(item.digest());
  }
  if (Status good = checkBatch(std::max(sent, declared), request->requests_size()); !good)
    return toGrpc(good);

  Batch batch;
  for (int i = 0; i < request->requests_size(); ++i) {
    auto* answer = response->add_responses();
    *answer->mutable_digest() = request->requests(i).digest();
    if (const Status added = add(request->requests(i), i, batch); !added)
      *answer->mutable_status() = toRpcStatus(added);
  }
  std::vector<Status> statuses = store_.putBatch(*instance, batch.blobs);
  for (std::size_t i = 0; i < statuses.size(); ++i)
    *response->mutable_responses(batch.places[i])->mutable_status() = toRpcStatus(statuses[i]);
  return grpc::Status::OK;
}

grpc::Status CasService::BatchReadBlobs(grpc::ServerContext*, const reapi::BatchReadBlobsRequest* request,
                                        reapi::BatchReadBlobsResponse* response) {
  const auto instance = instanceOf(*request);
  if (!instance) return toGrpc(instance.error());
  std::uint64_t bytes = 0;
  for (const auto& wire : request->digests()) bytes += bytesOf(wire);
  if (Status good = checkBatch(bytes, request->digests_size()); !good) return toGrpc(good);

  const bool takesZstd = std::ranges::find(request->acceptable_compressors(), reapi::Compressor::ZSTD) !=
                         request->acceptable_compressors().end();
  for (const auto& wire : request->digests()) {
    auto* answer = response->add_responses();
    *answer->mutable_digest() = wire;
    auto digest = fromProto(wire);
    auto blob = digest ? getBlob(store_, *instance, *digest, kMaxBatchBytes) : fail(digest.error());
    if (!blob) {
      *answer->mutable_status() = toRpcStatus(fail(blob.error()));
      continue;
    }
    std::string compressed = takesZstd ? zstdCompress(*blob) : "";
    const bool smaller = takesZstd && compressed.size() < blob->size();
    if (smaller) answer->set_compressor(reapi::Compressor::ZSTD);
    answer->set_data(std::move(smaller ? compressed : *blob));
  }
  return grpc::Status::OK;
}

grpc::Status CasService::GetTree(grpc::ServerContext*, const reapi::GetTreeRequest* request,
                                 grpc::ServerWriter<reapi::GetTreeResponse>* stream) {
  const auto instance = instanceOf(*request);
  if (!instance) return toGrpc(instance.error());
  const auto root = fromProto(request->root_digest());
  if (!root) return toGrpc(root.error().in("root_digest"));
  return toGrpc(sendTree(store_, *instance, {*root, request->page_size(), request->page_token()},
                         [stream](const reapi::GetTreeResponse& page) -> Status {
                           if (stream->Write(page)) return {};
                           return fail(Code::kCancelled, "the client went away");
                         }));
}

}  // namespace kiln::storage
