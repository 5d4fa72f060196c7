// RemoteBlobStore: a BlobStore that is reached over REAPI, at one coordinator or at any of several.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "storage/blob/blob_store.h"
#include "storage/remote/endpoints.h"
#include "storage/remote/wire_limits.h"
#include "storage/tree/digest_proto.h"

namespace kiln::storage {

struct RemoteBlobStoreOptions {
  // Of a unary call, and of a read without a new byte; a stream as a whole has longestTransfer() more.
  std::chrono::milliseconds callTimeout{60'000};
  std::uint64_t batchBytes = kMaxBatchBytes;  // of the blobs of one batch call: what the server takes
  bool hashesReads = true;                    // false: whoever calls read() hashes whole blobs itself
};

// What bytes may take on their way, at most: a second for each 64 KiB that is begun.
std::chrono::seconds longestTransfer(std::uint64_t bytes);

// Thread safe. Errors are the server's, kUnavailable if it cannot be reached. Whole blobs are hashed as they
// arrive and held back by one chunk, so the server is not trusted for them; for a range the server's own
// check counts. Of several coordinators the next one goes on where one fails, a read at the byte that it had
// come to; a write that was begun is lost with its coordinator, and whoever has the bytes begins it again.
class RemoteBlobStore final : public BlobStore {
 public:
  explicit RemoteBlobStore(std::shared_ptr<grpc::Channel> channel, RemoteBlobStoreOptions options = {});
  explicit RemoteBlobStore(std::shared_ptr<Endpoints> endpoints, RemoteBlobStoreOptions options = {});

  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;
  std::vector<Status> putBatch(const std::string& instance, std::span<const BlobBytes> blobs) override;
  std::vector<Result<std::string>> getBatch(const std::string& instance,
                                            std::span<const Digest> digests) override;

 private:
  class Download;
  struct Stubs {
    std::unique_ptr<reapi::ContentAddressableStorage::Stub> cas;
    std::unique_ptr<google::bytestream::ByteStream::Stub> streams;
  };
  // One stream, from where the download has come to.
  Status readOn(google::bytestream::ByteStream::Stub& streams, const std::string& instance,
                Download& download) const;
  // One FindMissingBlobs call.
  Result<reapi::FindMissingBlobsResponse> askMissing(const reapi::FindMissingBlobsRequest& request);
  // One BatchUpdateBlobs or BatchReadBlobs call.
  void putGroup(const std::string& instance, std::span<const BlobBytes> group, std::span<Status> statuses);
  void getGroup(const std::string& instance, std::span<const Digest> group,
                std::span<Result<std::string>> blobs);

  std::chrono::system_clock::time_point streamDeadline(std::uint64_t bytes) const;

  const std::shared_ptr<Endpoints> endpoints_;
  std::vector<Stubs> stubs_;  // by the place of their endpoint
  const RemoteBlobStoreOptions options_;
};

}  // namespace kiln::storage
