// google.bytestream.ByteStream over a BlobStore: blobs of any size, as they are or compressed with zstd.
#pragma once

#include <memory>

#include "google/bytestream/bytestream.grpc.pb.h"
#include "manifest/base/steady_clock.h"
#include "storage/blob/blob_store.h"
#include "storage/remote/codec_slots.h"
#include "storage/remote/upload_sessions.h"

namespace kiln::storage {

// What goes on beyond one call. Thread safe.
struct StreamState {
  SteadyClock clock;
  UploadSessions uploads{clock};
  CodecSlots codecs;
};

// Thread safe. `store` must outlive the service, and `state` where several services share it. An upload that
// broke off goes on where QueryWriteStatus says (upload_sessions.h). Offsets are those of the uncompressed
// bytes; within a stream of a compressed upload they count on by the compressed bytes, as REAPI has it.
class ByteStreamService final : public google::bytestream::ByteStream::Service {
 public:
  explicit ByteStreamService(BlobStore& store,
                             std::shared_ptr<StreamState> state = std::make_shared<StreamState>())
      : store_(store), state_(std::move(state)) {}

  // INVALID_ARGUMENT for a limit of a compressed read.
  grpc::Status Read(grpc::ServerContext* context, const google::bytestream::ReadRequest* request,
                    grpc::ServerWriter<google::bytestream::ReadResponse>* stream) override;
  // A blob that is already there is answered at once: with its full size, or -1 where the upload is
  // compressed.
  grpc::Status Write(grpc::ServerContext* context,
                     grpc::ServerReader<google::bytestream::WriteRequest>* stream,
                     google::bytestream::WriteResponse* response) override;
  // Complete with the full size, or the offset at which a Write goes on.
  grpc::Status QueryWriteStatus(grpc::ServerContext* context,
                                const google::bytestream::QueryWriteStatusRequest* request,
                                google::bytestream::QueryWriteStatusResponse* response) override;

 private:
  Status receive(grpc::ServerReader<google::bytestream::WriteRequest>& stream, std::int64_t& committed);

  BlobStore& store_;
  const std::shared_ptr<StreamState> state_;
};

}  // namespace kiln::storage
