// ContentAddressableStorage over a BlobStore.
#pragma once

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "storage/blob/blob_store.h"
#include "storage/tree/digest_proto.h"

namespace kiln::storage {

// Thread safe. `store` must outlive the service. Every call: INVALID_ARGUMENT for another digest function
// than SHA-256, and for an instance whose name has a word that REAPI reserves (reapi_instance.h).
class CasService final : public reapi::ContentAddressableStorage::Service {
 public:
  explicit CasService(BlobStore& store) : store_(store) {}

  grpc::Status FindMissingBlobs(grpc::ServerContext* context, const reapi::FindMissingBlobsRequest* request,
                                reapi::FindMissingBlobsResponse* response) override;
  // INVALID_ARGUMENT beyond the batch limits, which count the bytes as sent and as declared; otherwise one
  // status per blob. Blobs may be compressed with zstd.
  grpc::Status BatchUpdateBlobs(grpc::ServerContext* context, const reapi::BatchUpdateBlobsRequest* request,
                                reapi::BatchUpdateBlobsResponse* response) override;
  // A blob comes compressed where the client takes zstd and that is smaller.
  grpc::Status BatchReadBlobs(grpc::ServerContext* context, const reapi::BatchReadBlobsRequest* request,
                              reapi::BatchReadBlobsResponse* response) override;
  // All pages (tree_pages.h). Where part of the tree is missing it is NOT_FOUND with the name of what is
  // missing: a client could not tell a part from the whole.
  grpc::Status GetTree(grpc::ServerContext* context, const reapi::GetTreeRequest* request,
                       grpc::ServerWriter<reapi::GetTreeResponse>* stream) override;

 private:
  BlobStore& store_;
};

}  // namespace kiln::storage
