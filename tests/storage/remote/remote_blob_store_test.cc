#include "storage/remote/remote_blob_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "storage/remote/resource_name.h"
#include "storage/remote/status.h"
#include "tests/support/cas_server.h"
#include "tests/support/faulty_blob_store.h"
#include "tests/support/local_store_harness.h"

namespace kiln::storage {
namespace {

namespace bytestream = google::bytestream;
using testing_support::CasServer;
using testing_support::FaultyBlobStore;

class RemoteStoreHarness final : public BlobStoreHarness {
 public:
  BlobStore& store() override { return remote_; }
  void corrupt(const Digest& digest) override { local_.corrupt(digest); }

 private:
  LocalStoreHarness local_;
  CasServer server_{local_.store()};
  RemoteBlobStore remote_{server_.channel()};
};

INSTANTIATE_TEST_SUITE_P(Remote, BlobStoreContract,
                         testing::Values([] { return std::make_unique<RemoteStoreHarness>(); }));

// Raw protocol calls against a local store.
class Protocol : public testing::Test {
 protected:
  LocalStoreHarness local_;
  CasServer server_{local_.store()};
  std::unique_ptr<bytestream::ByteStream::Stub> streams_ = bytestream::ByteStream::NewStub(server_.channel());
  std::unique_ptr<reapi::ContentAddressableStorage::Stub> cas_ =
      reapi::ContentAddressableStorage::NewStub(server_.channel());

  struct Piece {
    std::int64_t offset;
    std::string data;
    bool finish = false;
    std::string name = "";
  };
  std::pair<grpc::Status, std::int64_t> upload(const std::string& name, const std::vector<Piece>& pieces) {
    grpc::ClientContext context;
    bytestream::WriteResponse response;
    auto stream = streams_->Write(&context, &response);
    bool first = true;
    for (const Piece& piece : pieces) {
      bytestream::WriteRequest request;
      request.set_resource_name(first ? name : piece.name);
      request.set_write_offset(piece.offset);
      request.set_data(piece.data);
      request.set_finish_write(piece.finish);
      first = false;
      if (!stream->Write(request)) break;
    }
    stream->WritesDone();
    grpc::Status status = stream->Finish();
    return {status, response.committed_size()};
  }
  grpc::StatusCode readCode(const std::string& name, std::int64_t offset, std::int64_t limit,
                            std::string* out = nullptr) {
    grpc::ClientContext context;
    bytestream::ReadRequest request;
    request.set_resource_name(name);
    request.set_read_offset(offset);
    request.set_read_limit(limit);
    auto stream = streams_->Read(&context, request);
    bytestream::ReadResponse response;
    while (stream->Read(&response))
      if (out) *out += response.data();
    return stream->Finish().error_code();
  }
};

TEST_F(Protocol, WritesInPieces) {
  Digest digest = digestOf("one two");
  auto [status, committed] = upload(writeName("a/b", digest), {{0, "one "}, {4, "two", true}});
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(committed, 7);
  EXPECT_EQ(getBlob(local_.store(), "a/b", digest, 10).value(), "one two");
}

TEST_F(Protocol, ABlobThatIsThereIsAnsweredAtOnce) {
  Digest digest = putBlob(local_.store(), "a", asBytes("there")).value();
  auto [status, committed] = upload(writeName("a", digest), {{0, "t"}});
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(committed, 5);
}

TEST_F(Protocol, RefusesBrokenUploads) {
  Digest digest = digestOf("one two");
  std::string name = writeName("a", digest);
  auto code = [&](const std::vector<Piece>& pieces) { return upload(name, pieces).first.error_code(); };
  EXPECT_EQ(code({{4, "two", true}}), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code({{0, "one "}, {5, "two", true}}), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code({{0, "one "}, {4, "tow", true}}), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code({{0, "one two three", true}}), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code({{0, "one "}, {4, "two", true, writeName("b", digest)}}), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code({{0, "one two"}}), grpc::ABORTED);
  EXPECT_EQ(code({}), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(upload("uploads/x/blobs/zz/3", {{0, "x", true}}).first.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_FALSE(hasBlob(local_.store(), "a", digest).value());
}

TEST_F(Protocol, ReadsWithOffsetAndLimit) {
  Digest digest = putBlob(local_.store(), "default", asBytes("0123456789")).value();
  std::string name = readName("", digest), out;
  EXPECT_EQ(readCode(name, 2, 3, &out), grpc::OK);
  EXPECT_EQ(out, "234");
  EXPECT_EQ(readCode(name, 11, 0), grpc::OUT_OF_RANGE);
  EXPECT_EQ(readCode(name, -1, 0), grpc::OUT_OF_RANGE);
  EXPECT_EQ(readCode(name, 0, -1), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(readCode(readName("other", digest), 0, 0), grpc::NOT_FOUND);
  EXPECT_EQ(readCode("blobs/x", 0, 0), grpc::INVALID_ARGUMENT);
}

TEST_F(Protocol, QueryWriteStatusSaysWhetherABlobIsThere) {
  Digest digest = digestOf("later");
  auto query = [&] {
    grpc::ClientContext context;
    bytestream::QueryWriteStatusRequest request;
    request.set_resource_name(writeName("a", digest));
    bytestream::QueryWriteStatusResponse response;
    EXPECT_TRUE(streams_->QueryWriteStatus(&context, request, &response).ok());
    return std::pair(response.complete(), response.committed_size());
  };
  EXPECT_EQ(query(), std::pair(false, std::int64_t(0)));
  ASSERT_TRUE(putBlob(local_.store(), "a", asBytes("later")));
  EXPECT_EQ(query(), std::pair(true, std::int64_t(5)));
}

TEST_F(Protocol, BatchesAnswerPerBlobAndAreBounded) {
  reapi::BatchUpdateBlobsRequest update;
  update.set_instance_name("a");
  auto add = [&](const Digest& digest, const std::string& data) {
    auto* item = update.add_requests();
    *item->mutable_digest() = toProto(digest);
    item->set_data(data);
    return item;
  };
  add(digestOf("good"), "good");
  add(digestOf("good"), "evil");
  add(digestOf("x"), "x")->mutable_digest()->set_hash("XYZ");
  {
    grpc::ClientContext context;
    reapi::BatchUpdateBlobsResponse response;
    ASSERT_TRUE(cas_->BatchUpdateBlobs(&context, update, &response).ok());
    ASSERT_EQ(response.responses_size(), 3);
    EXPECT_EQ(response.responses(0).status().code(), 0);
    EXPECT_EQ(response.responses(1).status().code(), grpc::INVALID_ARGUMENT);
    EXPECT_EQ(response.responses(2).status().code(), grpc::INVALID_ARGUMENT);
  }
  reapi::BatchReadBlobsRequest read;
  read.set_instance_name("a");
  *read.add_digests() = toProto(digestOf("good"));
  *read.add_digests() = toProto(digestOf("absent"));
  {
    grpc::ClientContext context;
    reapi::BatchReadBlobsResponse response;
    ASSERT_TRUE(cas_->BatchReadBlobs(&context, read, &response).ok());
    EXPECT_EQ(response.responses(0).data(), "good");
    EXPECT_EQ(response.responses(1).status().code(), grpc::NOT_FOUND);
  }
  Digest large = digestOf("large");
  large.size = kMaxBatchBytes;
  *read.add_digests() = toProto(large);
  {
    grpc::ClientContext context;
    reapi::BatchReadBlobsResponse response;
    EXPECT_EQ(cas_->BatchReadBlobs(&context, read, &response).error_code(), grpc::INVALID_ARGUMENT);
  }
  add(digestOf("y"), std::string(kMaxBatchBytes, 'y'));
  {
    grpc::ClientContext context;
    reapi::BatchUpdateBlobsResponse response;
    EXPECT_EQ(cas_->BatchUpdateBlobs(&context, update, &response).error_code(), grpc::INVALID_ARGUMENT);
  }
}

TEST_F(Protocol, FindMissingRefusesWhatIsNoDigest) {
  grpc::ClientContext context;
  reapi::FindMissingBlobsRequest request;
  request.add_blob_digests()->set_hash("abc");
  reapi::FindMissingBlobsResponse response;
  EXPECT_EQ(cas_->FindMissingBlobs(&context, request, &response).error_code(), grpc::INVALID_ARGUMENT);
}

TEST(RemoteBlobStore, AFullDiskDuringUploadIsSaidAndNothingStays) {
  LocalStoreHarness local;
  FaultyBlobStore faulty(local.store());
  CasServer server(faulty);
  RemoteBlobStore remote(server.channel());
  faulty.fillAfter(3 << 20);
  std::string text(8 << 20, 'x');
  auto full = putBlob(remote, "a", asBytes(text));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kResourceExhausted);
  EXPECT_NE(full.error().message.find("No space left"), std::string::npos) << full.error().message;
  EXPECT_FALSE(hasBlob(remote, "a", digestOf(text)).value());
  EXPECT_TRUE(std::filesystem::is_empty(*std::filesystem::directory_iterator(local.root() + "/tmp")));
  faulty.fillAfter(1ull << 40);
  EXPECT_TRUE(putBlob(remote, "a", asBytes(text)));
}

TEST(RemoteBlobStore, AServerThatIsAwayIsUnavailable) {
  LocalStoreHarness local;
  CasServer server(local.store());
  RemoteBlobStore remote(server.channel());
  Digest digest = putBlob(remote, "a", asBytes("x")).value();
  server.stop();
  EXPECT_EQ(getBlob(remote, "a", digest, 10).error().code, Code::kUnavailable);
  EXPECT_EQ(putBlob(remote, "a", asBytes("y")).error().code, Code::kUnavailable);
  EXPECT_EQ(hasBlob(remote, "a", digest).error().code, Code::kUnavailable);
}

// A server that gives out other bytes than were asked for.
class LyingStreams final : public bytestream::ByteStream::Service {
 public:
  std::string answer;
  grpc::Status Read(grpc::ServerContext*, const bytestream::ReadRequest*,
                    grpc::ServerWriter<bytestream::ReadResponse>* stream) override {
    bytestream::ReadResponse response;
    response.set_data(answer);
    stream->Write(response);
    return grpc::Status::OK;
  }
};

TEST(RemoteBlobStore, DoesNotBelieveTheServer) {
  LyingStreams lying;
  testing_support::TempDirectory directory;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + directory.path() + "/s", grpc::InsecureServerCredentials());
  builder.RegisterService(&lying);
  auto server = builder.BuildAndStart();
  RemoteBlobStore remote(
      grpc::CreateChannel("unix:" + directory.path() + "/s", grpc::InsecureChannelCredentials()));
  Digest digest = digestOf("truth");
  for (const char* answer : {"wrong", "tru", "truth and more"}) {
    lying.answer = answer;
    std::string passed;
    Status status = remote.read("a", digest, 0, 0, [&](Bytes bytes) -> Status {
      passed.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    });
    ASSERT_FALSE(status) << answer;
    EXPECT_EQ(status.error().code, Code::kDataLoss);
    EXPECT_EQ(passed, "");
  }
  server->Shutdown();
}

// A server that takes calls and then says nothing, or nothing but empty messages.
class SilentStreams final : public bytestream::ByteStream::Service {
 public:
  grpc::Status Read(grpc::ServerContext* context, const bytestream::ReadRequest* request,
                    grpc::ServerWriter<bytestream::ReadResponse>* stream) override {
    while (!context->IsCancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (request->resource_name().starts_with("empty/") && !stream->Write({})) break;
    }
    return grpc::Status::CANCELLED;
  }
  grpc::Status Write(grpc::ServerContext* context, grpc::ServerReader<bytestream::WriteRequest>*,
                     bytestream::WriteResponse*) override {
    while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return grpc::Status::CANCELLED;
  }
};

TEST(RemoteBlobStore, ASilentServerIsNotWaitedForWithoutEnd) {
  SilentStreams silent;
  testing_support::TempDirectory directory;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + directory.path() + "/s", grpc::InsecureServerCredentials());
  builder.RegisterService(&silent);
  auto server = builder.BuildAndStart();
  RemoteBlobStore remote(
      grpc::CreateChannel("unix:" + directory.path() + "/s", grpc::InsecureChannelCredentials()),
      {.callTimeout = std::chrono::milliseconds(500)});
  for (const char* instance : {"a", "empty"})
    for (const std::uint64_t size :
         {std::uint64_t{5}, std::uint64_t{1} << 40})  // which may take longer in all
      EXPECT_EQ(remote.read(instance, {digestOf("truth").hash, size}, 0, 0, [](Bytes) { return Status(); })
                    .error()
                    .code,
                Code::kDeadlineExceeded)
          << instance << " " << size;
  const auto writer = remote.beginWrite("a", digestOf("truth")).value();
  EXPECT_TRUE(writer->write(asBytes("truth")));
  EXPECT_EQ(writer->commit().error().code, Code::kDeadlineExceeded);
  server->Shutdown();
}

// A server that lacks what nobody asked about.
class GhostCas final : public reapi::ContentAddressableStorage::Service {
 public:
  grpc::Status FindMissingBlobs(grpc::ServerContext*, const reapi::FindMissingBlobsRequest*,
                                reapi::FindMissingBlobsResponse* response) override {
    for (int i = 0; i < 100; ++i) *response->add_missing_blob_digests() = toProto(digestOf("never heard of"));
    return grpc::Status::OK;
  }
};

TEST(RemoteBlobStore, OnlyWhatWasAskedForCanBeMissing) {
  GhostCas ghosts;
  testing_support::TempDirectory directory;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + directory.path() + "/s", grpc::InsecureServerCredentials());
  builder.RegisterService(&ghosts);
  auto server = builder.BuildAndStart();
  RemoteBlobStore remote(
      grpc::CreateChannel("unix:" + directory.path() + "/s", grpc::InsecureChannelCredentials()));
  const Digest asked = digestOf("asked");
  EXPECT_EQ(remote.findMissing("a", {&asked, 1}).error().code, Code::kDataLoss);
  const Digest lacked = digestOf("never heard of");
  EXPECT_EQ(remote.findMissing("a", {&lacked, 1}).value(), std::vector{lacked}) << "to be sent once";
  server->Shutdown();
}

TEST(Status, SurvivesTheWire) {
  Error error{Code::kFailedPrecondition, "place: next step \xff\xc3\xbc"};
  Error back = fromGrpc(toGrpc(error));
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.message, "place: next step ?\u00fc");
  EXPECT_LE(toGrpc(Error{Code::kInternal, std::string(100'000, 'x')}).error_message().size(), 2048u);
  EXPECT_TRUE(toGrpc(Status{}).ok());
  EXPECT_TRUE(fromRpcStatus(toRpcStatus({})));
  EXPECT_EQ(fromRpcStatus(toRpcStatus(fail(error))).error().code, error.code);
  google::rpc::Status strange;
  strange.set_code(99);
  EXPECT_EQ(fromRpcStatus(strange).error().code, Code::kUnknown);
}

}  // namespace
}  // namespace kiln::storage
