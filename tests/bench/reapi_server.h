// A server of the Remote Execution API as bench_reapi calls it, as plainly as the API allows: what is missing
// is asked for and uploaded in batches, and one call is waited for at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "storage/tree/digest_proto.h"

namespace kiln::bench {

struct Blob {
  Digest digest;
  std::string bytes;
};

// Without TLS, in the instance that has no name. Thread safe. Errors are those of the calls, with their names
// in front.
class ReapiServer {
 public:
  explicit ReapiServer(const std::string& address);

  // Small blobs, those of them that are missing.
  Status upload(const std::vector<Blob>& blobs);
  // Until the action has ended with 0. Whether its result was known already.
  Result<bool> execute(const Digest& action);
  Status getResult(const Digest& action);
  // By ByteStream, under resource names.
  Status write(const std::string& name, std::string_view bytes);
  Result<std::uint64_t> read(const std::string& name);  // how many bytes came

 private:
  Status send(reapi::BatchUpdateBlobsRequest& batch, std::size_t& bytes);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<reapi::ContentAddressableStorage::Stub> cas_;
  const std::unique_ptr<reapi::ActionCache::Stub> cache_;
  const std::unique_ptr<reapi::Execution::Stub> execution_;
  const std::unique_ptr<google::bytestream::ByteStream::Stub> streams_;
};

}  // namespace kiln::bench
