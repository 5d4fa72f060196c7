// The batch calls of RemoteBlobStore.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "storage/remote/remote_blob_store.h"
#include "storage/remote/status.h"
#include "storage/remote/wire_limits.h"

namespace kiln::storage {
namespace {

// Larger blobs go by stream even in a batch: batching saves nothing there.
constexpr std::uint64_t kMaxBatchedBlob = 1 << 20;

// Splits `count` blobs into neighbours that fit one call, `together(first, last)`, and those that go by
// stream, `alone(i)`.
void inGroups(std::size_t count, std::uint64_t mostBytes,
              const std::function<std::uint64_t(std::size_t)>& sizeOf,
              const std::function<void(std::size_t, std::size_t)>& together,
              const std::function<void(std::size_t)>& alone) {
  std::size_t first = 0;
  std::uint64_t bytes = 0;
  const auto flush = [&](std::size_t last) {
    if (last > first) together(first, last);
    first = last;
    bytes = 0;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t size = sizeOf(i);
    if (size > std::min(kMaxBatchedBlob, mostBytes)) {
      flush(i);
      alone(i);
      first = i + 1;
      continue;
    }
    if (bytes + size > mostBytes || i - first >= kMaxBatchBlobs) flush(i);
    bytes += size;
  }
  flush(count);
}

// What the server says of one blob, if it is that blob.
Result<std::string> checked(const Digest& digest, const reapi::BatchReadBlobsResponse::Response& said) {
  if (const Status status = fromRpcStatus(said.status()); !status) return fail(status.error());
  if (said.compressor() != reapi::Compressor::IDENTITY || digestOf(said.data()) != digest)
    return fail(Code::kDataLoss,
                fmt::format("what the server sent for {} does not have that hash", digest.text()));
  return said.data();
}

}  // namespace

void RemoteBlobStore::putGroup(const std::string& instance, std::span<const BlobBytes> group,
                               std::span<Status> statuses) {
  reapi::BatchUpdateBlobsRequest request;
  reapi::BatchUpdateBlobsResponse response;
  request.set_instance_name(instance);
  for (const BlobBytes& blob : group) {
    auto* item = request.add_requests();
    *item->mutable_digest() = toProto(blob.digest);
    item->set_data(blob.bytes.data(), blob.bytes.size());
  }
  Status called = (*endpoints_)([&](const Endpoint& at) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + options_.callTimeout);
    return statusFromGrpc(stubs_[at.place].cas->BatchUpdateBlobs(&context, request, &response),
                          "uploading a batch");
  });
  if (called && static_cast<std::size_t>(response.responses_size()) != group.size())
    called = fail(Code::kInternal, "the server answered a batch with another number of blobs");
  for (std::size_t i = 0; i < group.size(); ++i)
    statuses[i] = called ? fromRpcStatus(response.responses(static_cast<int>(i)).status()) : called;
}

std::vector<Status> RemoteBlobStore::putBatch(const std::string& instance, std::span<const BlobBytes> blobs) {
  std::vector<Status> statuses(blobs.size());
  inGroups(
      blobs.size(), options_.batchBytes, [&](std::size_t i) { return blobs[i].bytes.size(); },
      [&](std::size_t first, std::size_t last) {
        putGroup(instance, blobs.subspan(first, last - first),
                 std::span(statuses).subspan(first, last - first));
      },
      [&](std::size_t i) { statuses[i] = putBlob(*this, instance, blobs[i].digest, blobs[i].bytes); });
  return statuses;
}

// A server answers in its own order.
void RemoteBlobStore::getGroup(const std::string& instance, std::span<const Digest> group,
                               std::span<Result<std::string>> blobs) {
  reapi::BatchReadBlobsRequest request;
  reapi::BatchReadBlobsResponse response;
  request.set_instance_name(instance);
  for (const Digest& digest : group) *request.add_digests() = toProto(digest);
  const Status called = (*endpoints_)([&](const Endpoint& at) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + options_.callTimeout);
    return statusFromGrpc(stubs_[at.place].cas->BatchReadBlobs(&context, request, &response),
                          "reading a batch");
  });
  std::map<Digest, const reapi::BatchReadBlobsResponse::Response*> said;
  for (const auto& one : response.responses())
    if (const auto digest = fromProto(one.digest())) said[*digest] = &one;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto found = said.find(group[i]);
    if (!called)
      blobs[i] = fail(called.error());
    else if (found == said.end())
      blobs[i] = fail(Code::kDataLoss, "the server's answer leaves out " + group[i].text());
    else
      blobs[i] = checked(group[i], *found->second);
  }
}

std::vector<Result<std::string>> RemoteBlobStore::getBatch(const std::string& instance,
                                                           std::span<const Digest> digests) {
  std::vector<Result<std::string>> blobs(digests.size());
  inGroups(
      digests.size(), options_.batchBytes, [&](std::size_t i) { return digests[i].size; },
      [&](std::size_t first, std::size_t last) {
        getGroup(instance, digests.subspan(first, last - first),
                 std::span(blobs).subspan(first, last - first));
      },
      [&](std::size_t i) { blobs[i] = getBlob(*this, instance, digests[i], digests[i].size); });
  return blobs;
}

}  // namespace kiln::storage
