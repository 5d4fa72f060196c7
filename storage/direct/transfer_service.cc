#include "storage/direct/transfer_service.h"

#include "storage/remote/status.h"
#include "storage/tree/digest_proto.h"

namespace kiln::storage {
namespace {

void write(BlobRoute route, v1::BlobRoute& out) {
  out.set_url(std::move(route.url));
  for (std::string& header : route.headers) out.add_headers(std::move(header));
  out.set_upload(std::move(route.upload));
}

Status locate(DirectTransfers& transfers, const v1::LocateBlobRequest& request, v1::BlobRoute& response) {
  KILN_ASSIGN(const Digest digest, fromProto(request.digest()));
  KILN_ASSIGN(BlobRoute route, transfers.locate(request.instance(), digest));
  write(std::move(route), response);
  return {};
}

Status begin(DirectTransfers& transfers, const v1::BeginUploadRequest& request, v1::BlobRoute& response) {
  KILN_ASSIGN(const Digest digest, fromProto(request.digest()));
  KILN_ASSIGN(BlobRoute route, transfers.beginUpload(request.instance(), digest));
  write(std::move(route), response);
  return {};
}

Status finish(DirectTransfers& transfers, const v1::FinishUploadRequest& request) {
  KILN_ASSIGN(const Digest digest, fromProto(request.digest()));
  return transfers.finishUpload(request.instance(), digest, request.upload());
}

}  // namespace

grpc::Status TransferService::LocateBlob(grpc::ServerContext*, const v1::LocateBlobRequest* request,
                                         v1::BlobRoute* response) {
  return toGrpc(locate(transfers_, *request, *response));
}

grpc::Status TransferService::BeginUpload(grpc::ServerContext*, const v1::BeginUploadRequest* request,
                                          v1::BlobRoute* response) {
  return toGrpc(begin(transfers_, *request, *response));
}

grpc::Status TransferService::FinishUpload(grpc::ServerContext*, const v1::FinishUploadRequest* request,
                                           v1::FinishUploadResponse*) {
  return toGrpc(finish(transfers_, *request));
}

}  // namespace kiln::storage
