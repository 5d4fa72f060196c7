// google.bytestream.ByteStream over a BlobStore: blobs of any size.
#pragma once

#include "google/bytestream/bytestream.grpc.pb.h"
#include "storage/blob/blob_store.h"

namespace kiln::storage {

// Thread safe. `store` must outlive the service. Uploads are not resumable: one that broke off starts again
// at 0.
class ByteStreamService final : public google::bytestream::ByteStream::Service {
 public:
  explicit ByteStreamService(BlobStore& store) : store_(store) {}

  grpc::Status Read(grpc::ServerContext* context, const google::bytestream::ReadRequest* request,
                    grpc::ServerWriter<google::bytestream::ReadResponse>* stream) override;
  // A blob that is already there is answered at once with its full size.
  grpc::Status Write(grpc::ServerContext* context,
                     grpc::ServerReader<google::bytestream::WriteRequest>* stream,
                     google::bytestream::WriteResponse* response) override;
  // Complete, or nothing committed.
  grpc::Status QueryWriteStatus(grpc::ServerContext* context,
                                const google::bytestream::QueryWriteStatusRequest* request,
                                google::bytestream::QueryWriteStatusResponse* response) override;

 private:
  Status receive(grpc::ServerReader<google::bytestream::WriteRequest>& stream, std::int64_t& committed);

  BlobStore& store_;
};

}  // namespace kiln::storage
