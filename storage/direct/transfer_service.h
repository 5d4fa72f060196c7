// kiln.v1.TransferService over a store that has a way of its own.
#pragma once

#include "kiln/v1/transfer.grpc.pb.h"
#include "storage/blob/direct_transfers.h"

namespace kiln::storage {

// Thread safe. `transfers` must outlive the service.
class TransferService final : public v1::TransferService::Service {
 public:
  explicit TransferService(DirectTransfers& transfers) : transfers_(transfers) {}

  grpc::Status LocateBlob(grpc::ServerContext* context, const v1::LocateBlobRequest* request,
                          v1::BlobRoute* response) override;
  grpc::Status BeginUpload(grpc::ServerContext* context, const v1::BeginUploadRequest* request,
                           v1::BlobRoute* response) override;
  grpc::Status FinishUpload(grpc::ServerContext* context, const v1::FinishUploadRequest* request,
                            v1::FinishUploadResponse* response) override;

 private:
  DirectTransfers& transfers_;
};

}  // namespace kiln::storage
