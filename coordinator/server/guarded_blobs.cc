#include "coordinator/server/guarded_blobs.h"

#include <functional>

#include "coordinator/quota/counted_transfers.h"

namespace kiln::server {

namespace bytestream = google::bytestream;
using grpc::ServerContext;

namespace {

// A store for one call: every operation asks about its instance first.
class AskingStore final : public storage::BlobStore {
 public:
  using Ask = std::function<Status(const std::string& instance)>;
  AskingStore(storage::BlobStore& base, Ask ask) : base_(base), ask_(std::move(ask)) {}

  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override {
    KILN_TRY(ask_(instance));
    return base_.beginWrite(instance, digest);
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    KILN_TRY(ask_(instance));
    return base_.read(instance, digest, offset, length, sink);
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    KILN_TRY(ask_(instance));
    return base_.findMissing(instance, digests);
  }

 private:
  storage::BlobStore& base_;
  const Ask ask_;
};

AskingStore storeFor(const Door& door, const ServerContext& context, storage::BlobStore& base,
                     std::string_view rpc) {
  return AskingStore(base, [&door, &context, rpc](const std::string& instance) {
    return logged(door.gate.admit(door.credentials(context), rpc, instance), context, rpc);
  });
}

}  // namespace

quota::Uploader uploaderOf(const Door& door, const ServerContext& context) {
  const auto who = door.gate.identify(door.credentials(context));
  const bool isClient = who && (std::holds_alternative<access::CertificateHolder>(*who) ||
                                std::holds_alternative<access::TokenHolder>(*who) ||
                                std::holds_alternative<access::LoopbackCaller>(*who));
  return isClient ? quota::Uploader::kClient : quota::Uploader::kWorker;
}

grpc::Status GuardedStreams::Read(ServerContext* context, const bytestream::ReadRequest* request,
                                  grpc::ServerWriter<bytestream::ReadResponse>* stream) {
  if (const Status permit = door_.takePermit(*context); !permit) return toGrpc(permit);
  AskingStore store = storeFor(door_, *context, store_, "google.bytestream.ByteStream/Read");
  return storage::ByteStreamService(store, state_).Read(context, request, stream);
}
grpc::Status GuardedStreams::Write(ServerContext* context,
                                   grpc::ServerReader<bytestream::WriteRequest>* stream,
                                   bytestream::WriteResponse* response) {
  constexpr std::string_view kRpc = "google.bytestream.ByteStream/Write";
  // The instance comes with the first message, and who may upload to none would be waited for till then.
  access::RpcRule anywhere = *access::findRule(kRpc);
  anywhere.scope = access::Scope::kAnywhere;
  if (const Status may =
          logged(door_.gate.admit(door_.credentials(*context), &anywhere, kRpc, ""), *context, kRpc);
      !may)
    return toGrpc(may);
  if (const Status permit = door_.takePermit(*context); !permit) return toGrpc(permit);
  quota::CountedStore counted(store_, books_, uploaderOf(door_, *context));
  AskingStore store = storeFor(door_, *context, counted, kRpc);
  return storage::ByteStreamService(store, state_).Write(context, stream, response);
}
grpc::Status GuardedStreams::QueryWriteStatus(ServerContext* context,
                                              const bytestream::QueryWriteStatusRequest* request,
                                              bytestream::QueryWriteStatusResponse* response) {
  if (const Status permit = door_.takePermit(*context); !permit) return toGrpc(permit);
  AskingStore store = storeFor(door_, *context, store_, "google.bytestream.ByteStream/QueryWriteStatus");
  return storage::ByteStreamService(store, state_).QueryWriteStatus(context, request, response);
}

grpc::Status GuardedCas::BatchUpdateBlobs(ServerContext* context,
                                          const reapi::BatchUpdateBlobsRequest* request,
                                          reapi::BatchUpdateBlobsResponse* response) {
  if (const Status status = admit(*context, "BatchUpdateBlobs", instanceOf(*request)); !status)
    return toGrpc(status);
  quota::CountedStore counted(store_, books_, uploaderOf(door_, *context));
  return storage::CasService(counted).BatchUpdateBlobs(context, request, response);
}

grpc::Status GuardedTransfers::BeginUpload(ServerContext* context, const v1::BeginUploadRequest* request,
                                           v1::BlobRoute* response) {
  if (const Status status = admit(*context, "BeginUpload", request->instance()); !status)
    return toGrpc(status);
  quota::CountedTransfers counted(transfers_, store_, books_, uploaderOf(door_, *context));
  return storage::TransferService(counted).BeginUpload(context, request, response);
}

grpc::Status GuardedTransfers::FinishUpload(ServerContext* context, const v1::FinishUploadRequest* request,
                                            v1::FinishUploadResponse* response) {
  if (const Status status = admit(*context, "FinishUpload", request->instance()); !status)
    return toGrpc(status);
  quota::CountedTransfers counted(transfers_, store_, books_, uploaderOf(door_, *context));
  return storage::TransferService(counted).FinishUpload(context, request, response);
}

}  // namespace kiln::server
