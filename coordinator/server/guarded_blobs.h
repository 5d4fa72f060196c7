// The CAS and ByteStream behind the gate, and within the quotas.
#pragma once

#include "coordinator/quota/counted_store.h"
#include "coordinator/server/guard.h"
#include "generated_guards.h"  // by guard_generator.h
#include "google/bytestream/bytestream.grpc.pb.h"
#include "storage/blob/blob_store.h"
#include "storage/direct/transfer_service.h"
#include "storage/remote/byte_stream_service.h"
#include "storage/remote/cas_service.h"

namespace kiln::server {

// Whose uploads these are. Over the private socket nobody tells workers from the farm's own user, who has no
// limit.
quota::Uploader uploaderOf(const Door& door, const grpc::ServerContext& context);

// Thread safe. What it is given must outlive it. The instance stands inside the resource name, and that of an
// upload in its first message: so each call goes to a service of its own, over a store that asks the gate
// about the instance which is really used. Uploads that broke off are kept beyond their calls: the writers
// refer to `store` and `books` alone.
class GuardedStreams final : public google::bytestream::ByteStream::Service {
 public:
  GuardedStreams(const Door& door, storage::BlobStore& store, const quota::Books& books)
      : door_(door), store_(store), books_(books) {
    state_->uploads.start();
  }
  grpc::Status Read(grpc::ServerContext* context, const google::bytestream::ReadRequest* request,
                    grpc::ServerWriter<google::bytestream::ReadResponse>* stream) override;
  grpc::Status Write(grpc::ServerContext* context,
                     grpc::ServerReader<google::bytestream::WriteRequest>* stream,
                     google::bytestream::WriteResponse* response) override;
  grpc::Status QueryWriteStatus(grpc::ServerContext* context,
                                const google::bytestream::QueryWriteStatusRequest* request,
                                google::bytestream::QueryWriteStatusResponse* response) override;

 private:
  const Door door_;
  storage::BlobStore& store_;
  const quota::Books books_;
  const std::shared_ptr<storage::StreamState> state_ = std::make_shared<storage::StreamState>();
};

// The other RPCs of the CAS go as the generated guard lets them.
class GuardedCas final : public GuardedContentAddressableStorage {
 public:
  GuardedCas(const Door& door, storage::CasService& inner, storage::BlobStore& store,
             const quota::Books& books)
      : GuardedContentAddressableStorage(door, inner), store_(store), books_(books) {}
  grpc::Status BatchUpdateBlobs(grpc::ServerContext* context, const reapi::BatchUpdateBlobsRequest* request,
                                reapi::BatchUpdateBlobsResponse* response) override;

 private:
  storage::BlobStore& store_;
  const quota::Books books_;
};

// Uploads past the coordinator, within the quotas. What is only read goes as the generated guard lets it.
class GuardedTransfers final : public GuardedTransferService {
 public:
  GuardedTransfers(const Door& door, storage::TransferService& inner, storage::DirectTransfers& transfers,
                   storage::BlobStore& store, const quota::Books& books)
      : GuardedTransferService(door, inner), transfers_(transfers), store_(store), books_(books) {}
  grpc::Status BeginUpload(grpc::ServerContext* context, const v1::BeginUploadRequest* request,
                           v1::BlobRoute* response) override;
  grpc::Status FinishUpload(grpc::ServerContext* context, const v1::FinishUploadRequest* request,
                            v1::FinishUploadResponse* response) override;

 private:
  storage::DirectTransfers& transfers_;
  storage::BlobStore& store_;
  const quota::Books books_;
};

}  // namespace kiln::server
