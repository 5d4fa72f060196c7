// ContentAddressableStorage over a BlobStore.
#pragma once

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "storage/blob/blob_store.h"
#include "storage/tree/digest_proto.h"

namespace kiln::storage {

// Thread safe. `store` must outlive the service.
class CasService final : public reapi::ContentAddressableStorage::Service {
 public:
  explicit CasService(BlobStore& store) : store_(store) {}

  grpc::Status FindMissingBlobs(grpc::ServerContext* context, const reapi::FindMissingBlobsRequest* request,
                                reapi::FindMissingBlobsResponse* response) override;
  // INVALID_ARGUMENT beyond the batch limits; otherwise one status per blob.
  grpc::Status BatchUpdateBlobs(grpc::ServerContext* context, const reapi::BatchUpdateBlobsRequest* request,
                                reapi::BatchUpdateBlobsResponse* response) override;
  grpc::Status BatchReadBlobs(grpc::ServerContext* context, const reapi::BatchReadBlobsRequest* request,
                              reapi::BatchReadBlobsResponse* response) override;

 private:
  BlobStore& store_;
};

}  // namespace kiln::storage
