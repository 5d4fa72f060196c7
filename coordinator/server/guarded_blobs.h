// ByteStream behind the gate.
#pragma once

#include "coordinator/server/guard.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "storage/blob/blob_store.h"

namespace kiln::server {

// Thread safe. What it is given must outlive it. The instance stands inside the resource name, and that of an
// upload in its first message: so each call goes to a service of its own, over a store that asks the gate
// about the instance which is really used.
class GuardedStreams final : public google::bytestream::ByteStream::Service {
 public:
  GuardedStreams(const Door& door, storage::BlobStore& store) : door_(door), store_(store) {}
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
};

}  // namespace kiln::server
