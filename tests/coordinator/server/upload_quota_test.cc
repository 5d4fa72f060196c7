// Uploads over real mutual TLS by clients and workers, within their instance's quota.
#include "coordinator/quota/usage.h"
#include "storage/blob/upload.h"
#include "storage/remote/remote_blob_store.h"
#include "storage/remote/status.h"
#include "storage/tree/digest_proto.h"
#include "tests/coordinator/server/access_fixture.h"

namespace kiln::server::testing {
namespace {

class UploadQuota : public AccessFixture {
 protected:
  UploadQuota() {
    farm_.leasing.quotas->replace(
        quota::QuotaRules::parse(
            R"({"apiVersion": "kiln/v1", "kind": "Quotas", "default": {"uploadedBytesPerHour": 100}})")
            .value());
  }
  Result<Digest> put(const std::string& name, const std::string& text) {
    storage::RemoteBlobStore store(as(name));
    return storage::putBlob(store, kGranted, asBytes(text));
  }
  Status putTogether(const std::string& name, const std::string& text) {
    storage::RemoteBlobStore store(as(name));
    const std::vector<storage::BlobBytes> blobs{{digestOf(text), asBytes(text)}};
    return store.putBatch(kGranted, blobs).at(0);
  }
  Status begin(const std::string& name, const std::string& text) {
    v1::BeginUploadRequest request;
    v1::BlobRoute route;
    return pastTheCoordinator(&v1::TransferService::Stub::BeginUpload, name, text, request, route);
  }
  Status finish(const std::string& name, const std::string& text) {
    v1::FinishUploadRequest request;
    v1::FinishUploadResponse response;
    return pastTheCoordinator(&v1::TransferService::Stub::FinishUpload, name, text, request, response);
  }
  template <class Request, class Response>
  Status pastTheCoordinator(grpc::Status (v1::TransferService::Stub::*method)(grpc::ClientContext*,
                                                                              const Request&, Response*),
                            const std::string& name, const std::string& text, Request& request,
                            Response& response) {
    request.set_instance(kGranted);
    *request.mutable_digest() = toProto(digestOf(text));
    grpc::ClientContext context;
    const auto stub = v1::TransferService::NewStub(as(name));
    return statusFromGrpc((*stub.*method)(&context, request, &response));
  }
  static void expectRefused(const Status& status) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kResourceExhausted) << status.error().message;
    EXPECT_NE(status.error().message.find("uploadedBytesPerHour"), std::string::npos)
        << status.error().message;
    EXPECT_NE(status.error().details.find("retryAfterSeconds"), std::string::npos)
        << "the client learns when to come again";
  }
};

TEST_F(UploadQuota, AClientsStreamsAndBatchesAreRefusedBeyondIt) {
  ASSERT_TRUE(put("submitter", std::string(60, 'x')));
  ASSERT_TRUE(putTogether("submitter", std::string(40, 'y')));
  const auto streamed = put("submitter", "z");
  expectRefused(streamed ? Status() : fail(streamed.error()));
  expectRefused(putTogether("admin", "z"));
  EXPECT_TRUE(put("submitter", std::string(60, 'x'))) << "what is there is no upload";
  clock_.advance(std::chrono::hours(1));
  EXPECT_TRUE(put("submitter", "z"));
}

TEST_F(UploadQuota, UploadsPastTheCoordinatorAreRefusedAlike) {
  ASSERT_TRUE(begin("submitter", std::string(60, 'x')));
  ASSERT_TRUE(begin("submitter", std::string(60, 'y'))) << "counted at its end";
  ASSERT_TRUE(finish("submitter", std::string(60, 'x')));
  expectRefused(begin("submitter", std::string(41, 'z')));
  expectRefused(finish("submitter", std::string(60, 'y')));
  EXPECT_TRUE(begin("worker", std::string(300, 'z')));
  EXPECT_TRUE(finish("worker", std::string(300, 'z')));
  EXPECT_TRUE(finish("submitter", std::string(40, 'z')));
}

TEST_F(UploadQuota, AWorkersResultsAreNot) {
  EXPECT_TRUE(put("worker", std::string(300, 'x')));
  EXPECT_TRUE(putTogether("worker", std::string(300, 'y')));
  EXPECT_TRUE(put("submitter", std::string(60, 'z'))) << "and leave clients their own";
}

}  // namespace
}  // namespace kiln::server::testing
