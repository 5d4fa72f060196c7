// The CAS of a cluster in this process, which counts what it is asked and can be told to lie.
#pragma once

#include <grpcpp/server_context.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "manifest/base/mutex.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cluster {

namespace reapi = ::build::bazel::remote::execution::v2;

// A CAS that takes and gives whatever it has, under any instance name.
class ClusterBlobs final : public reapi::ContentAddressableStorage::Service,
                           public google::bytestream::ByteStream::Service {
 public:
  Digest put(const std::string& bytes) {
    const Digest digest = digestOf(bytes);
    const MutexLock lock(mutex_);
    blobs_[digest.hex()] = bytes;
    return digest;
  }
  // Has other bytes under this digest than its own.
  void set(const Digest& digest, const std::string& bytes) {
    const MutexLock lock(mutex_);
    blobs_[digest.hex()] = bytes;
  }
  void forget(const Digest& digest) {
    const MutexLock lock(mutex_);
    blobs_.erase(digest.hex());
  }
  bool has(const Digest& digest) {
    const MutexLock lock(mutex_);
    return blobs_.contains(digest.hex());
  }
  std::string get(const std::string& hex) {
    const MutexLock lock(mutex_);
    const auto found = blobs_.find(hex);
    return found == blobs_.end() ? "" : found->second;
  }
  // Instance names of all calls, and how many uploads there were.
  std::set<std::string> instances() {
    const MutexLock lock(mutex_);
    return instances_;
  }
  std::atomic<int> uploads = 0;         // of blobs, whichever way they came
  std::atomic<bool> claimsAll = false;  // says that nothing is missing, whatever it has
  // Calls; of the batches the largest, in bytes of blobs.
  std::atomic<int> asked = 0, batchesIn = 0, batchesOut = 0, streamsIn = 0, streamsOut = 0;
  std::atomic<std::size_t> largestBatch = 0;
  // What a test makes of an honest answer to BatchReadBlobs.
  std::function<void(reapi::BatchReadBlobsResponse&)> lie = [](reapi::BatchReadBlobsResponse&) {};

  grpc::Status FindMissingBlobs(grpc::ServerContext*, const reapi::FindMissingBlobsRequest* request,
                                reapi::FindMissingBlobsResponse* response) override {
    ++asked;
    const MutexLock lock(mutex_);
    instances_.insert(request->instance_name());
    for (const auto& digest : request->blob_digests())
      if (!claimsAll && !blobs_.contains(digest.hash())) *response->add_missing_blob_digests() = digest;
    return grpc::Status::OK;
  }
  grpc::Status BatchUpdateBlobs(grpc::ServerContext*, const reapi::BatchUpdateBlobsRequest* request,
                                reapi::BatchUpdateBlobsResponse* response) override {
    ++batchesIn;
    std::size_t bytes = 0;
    const MutexLock lock(mutex_);
    for (const auto& item : request->requests()) {
      ++uploads;
      bytes += item.data().size();
      blobs_[item.digest().hash()] = item.data();
      *response->add_responses()->mutable_digest() = item.digest();
    }
    largestBatch = std::max<std::size_t>(largestBatch, bytes);
    return grpc::Status::OK;
  }
  grpc::Status BatchReadBlobs(grpc::ServerContext*, const reapi::BatchReadBlobsRequest* request,
                              reapi::BatchReadBlobsResponse* response) override {
    ++batchesOut;
    std::size_t bytes = 0;
    const MutexLock lock(mutex_);
    instances_.insert(request->instance_name());
    for (const auto& digest : request->digests()) {
      auto* one = response->add_responses();
      *one->mutable_digest() = digest;
      const auto found = blobs_.find(digest.hash());
      if (found == blobs_.end())
        one->mutable_status()->set_code(grpc::NOT_FOUND);
      else
        one->set_data(found->second);
      bytes += one->data().size();
    }
    largestBatch = std::max<std::size_t>(largestBatch, bytes);
    lie(*response);
    return grpc::Status::OK;
  }
  grpc::Status Write(grpc::ServerContext*, grpc::ServerReader<google::bytestream::WriteRequest>* stream,
                     google::bytestream::WriteResponse* response) override {
    ++streamsIn;
    google::bytestream::WriteRequest request;
    std::string name, bytes;
    while (stream->Read(&request)) {
      if (!request.resource_name().empty()) name = request.resource_name();
      bytes += request.data();
    }
    ++uploads;
    const MutexLock lock(mutex_);
    blobs_[hashIn(name)] = bytes;
    response->set_committed_size(static_cast<std::int64_t>(bytes.size()));
    return grpc::Status::OK;
  }
  grpc::Status Read(grpc::ServerContext*, const google::bytestream::ReadRequest* request,
                    grpc::ServerWriter<google::bytestream::ReadResponse>* stream) override {
    ++streamsOut;
    const std::string hex = hashIn(request->resource_name());
    {
      const MutexLock lock(mutex_);
      if (!blobs_.contains(hex)) return {grpc::StatusCode::NOT_FOUND, "no such blob"};
    }
    const std::string bytes = get(hex).substr(static_cast<std::size_t>(request->read_offset()));
    google::bytestream::ReadResponse response;
    response.set_data(request->read_limit() == 0
                          ? bytes
                          : bytes.substr(0, static_cast<std::size_t>(request->read_limit())));
    stream->Write(response);
    return grpc::Status::OK;
  }

 private:
  // ".../blobs/HASH/SIZE"
  static std::string hashIn(const std::string& name) {
    const std::size_t at = name.rfind("blobs/");
    return at == std::string::npos ? "" : name.substr(at + 6, 64);
  }

  Mutex mutex_;
  std::map<std::string, std::string> blobs_;
  std::set<std::string> instances_;
};

}  // namespace kiln::cluster
