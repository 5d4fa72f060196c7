// What clients of REAPI send beyond what Kiln's own does: compressed blobs, uploads that go on, trees.
#include <gtest/gtest.h>

#include "storage/remote/reapi_rules.h"
#include "storage/remote/resource_name.h"
#include "storage/remote/wire_limits.h"
#include "storage/remote/zstd_codec.h"
#include "storage/tree/directory.h"
#include "tests/storage/remote/wire_client.h"
#include "tests/support/cas_server.h"
#include "tests/support/local_store_harness.h"

namespace kiln::storage {
namespace {

std::string compressedRead(const Digest& digest) {
  return "compressed-blobs/zstd/" + digest.hex() + "/" + std::to_string(digest.size);
}
std::string compressedWrite(const std::string& upload, const Digest& digest) {
  return "uploads/" + upload + "/" + compressedRead(digest);
}

class ReapiWire : public testing::Test {
 protected:
  using Answer = WireClient::Answer;
  using Sent = WireClient::Sent;
  Answer upload(const std::string& name, const Sent& sent) { return client_.upload(name, sent); }
  Answer read(const std::string& name, std::int64_t offset, std::int64_t limit, std::string& out) {
    return client_.read(name, offset, limit, out);
  }
  std::int64_t goesOnAt(const std::string& name) { return client_.goesOnAt(name); }
  grpc::Status tree(const reapi::GetTreeRequest& request, std::vector<reapi::GetTreeResponse>& pages) {
    grpc::ClientContext context;
    auto stream = cas_->GetTree(&context, request);
    for (reapi::GetTreeResponse page; stream->Read(&page);) pages.push_back(page);
    return stream->Finish();
  }

  LocalStoreHarness local_;
  testing_support::CasServer server_{local_.store()};
  WireClient client_{server_.channel()};
  std::unique_ptr<reapi::ContentAddressableStorage::Stub> cas_ =
      reapi::ContentAddressableStorage::NewStub(server_.channel());
  const std::string text_ = [] {
    std::string out;
    for (std::uint64_t i = 0; out.size() < 5'000'000; ++i) out += std::to_string(i * 7919) + "\n";
    return out;
  }();
  const Digest digest_ = digestOf(text_);
};

TEST_F(ReapiWire, CompressedBlobsGoInAndOut) {
  const std::string compressed = zstdCompress(text_);
  const Answer written = upload(compressedWrite("u", digest_), {compressed});
  EXPECT_EQ(written.code, grpc::OK) << written.message;
  EXPECT_EQ(written.committed, static_cast<std::int64_t>(compressed.size()));
  EXPECT_EQ(getBlob(local_.store(), "default", digest_, text_.size()).value(), text_);
  EXPECT_EQ(upload(compressedWrite("v", digest_), {compressed.substr(0, 100)}).committed, -1)
      << "it is there";
  EXPECT_EQ(goesOnAt(compressedWrite("v", digest_)), -1);
  for (const std::size_t offset : {std::size_t(0), std::size_t(1'234'567), text_.size()}) {
    std::string out;
    EXPECT_EQ(read(compressedRead(digest_), static_cast<std::int64_t>(offset), 0, out).code, grpc::OK);
    EXPECT_EQ(zstdDecompress(out, text_.size() - offset).value(), text_.substr(offset)) << offset;
  }
}

TEST_F(ReapiWire, ACompressedReadKeepsToTheProtocol) {
  ASSERT_TRUE(putBlob(local_.store(), "default", digest_, asBytes(text_)));
  std::string out;
  EXPECT_EQ(read(compressedRead(digest_), 0, 10, out).code, grpc::INVALID_ARGUMENT);
  EXPECT_EQ(read(compressedRead(digest_), static_cast<std::int64_t>(text_.size()) + 1, 0, out).code,
            grpc::OUT_OF_RANGE);
  EXPECT_EQ(read(compressedRead(digestOf("absent")), 0, 0, out).code, grpc::NOT_FOUND);
  EXPECT_EQ(read("compressed-blobs/brotli/" + digest_.hex() + "/5", 0, 0, out).code, grpc::INVALID_ARGUMENT);
  EXPECT_EQ(out, "");
  EXPECT_EQ(read(compressedRead(digestOf("")), 0, 0, out).code, grpc::OK);
  EXPECT_EQ(zstdDecompress(out, 0).value(), "");
}

TEST_F(ReapiWire, ACorruptBlobEndsWithAnErrorWhenItIsCompressed) {
  ASSERT_TRUE(putBlob(local_.store(), "default", digest_, asBytes(text_)));
  local_.corrupt(digest_);
  std::string out;
  EXPECT_EQ(read(compressedRead(digest_), 0, 0, out).code, grpc::DATA_LOSS);
  EXPECT_FALSE(zstdDecompress(out, text_.size()));
}

TEST_F(ReapiWire, CompressedUploadsAreBounded) {
  const std::string bomb = zstdCompress(std::string(64 << 20, '\0'));
  const auto code = [&](const Digest& digest, const std::string& bytes) {
    return upload(compressedWrite("u", digest), {bytes}).code;
  };
  Digest small = digestOf(std::string(64 << 20, '\0'));
  small.size = 1000;
  EXPECT_EQ(code(small, bomb), grpc::INVALID_ARGUMENT);
  const std::string good = zstdCompress("abc");
  EXPECT_EQ(code(digestOf("abc"), good.substr(0, good.size() - 1)), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code(digestOf("abc"), good + "x"), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code(digestOf("abd"), good), grpc::INVALID_ARGUMENT) << "another digest";
  EXPECT_EQ(code(digestOf("abc"), "abc"), grpc::INVALID_ARGUMENT) << "not compressed";
  EXPECT_EQ(code(digestOf("abc"), ""), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(filesBelow(local_.root() + "/tmp"), 0u);
  EXPECT_FALSE(hasBlob(local_.store(), "default", digestOf("abc")).value());
}

TEST_F(ReapiWire, AnUploadGoesOnWhereItBrokeOff) {
  const std::string name =
      "uploads/u/blobs/" + digest_.hex() + "/" + std::to_string(digest_.size) + "/name.txt";
  EXPECT_EQ(goesOnAt(name), 0);
  EXPECT_EQ(upload(name, {text_.substr(0, 3'000'000), 0, false}).code, grpc::ABORTED);
  EXPECT_EQ(goesOnAt(name), 3'000'000);
  EXPECT_EQ(upload(name, {text_.substr(2'000'000), 2'000'000}).code, grpc::INVALID_ARGUMENT) << "not there";
  EXPECT_EQ(upload(name, {text_.substr(4'000'000), 4'000'000}).code, grpc::INVALID_ARGUMENT);
  const Answer rest = upload(name, {text_.substr(3'000'000), 3'000'000});
  EXPECT_EQ(rest.code, grpc::OK) << rest.message;
  EXPECT_EQ(rest.committed, static_cast<std::int64_t>(text_.size()));
  EXPECT_EQ(getBlob(local_.store(), "default", digest_, text_.size()).value(), text_);
}

TEST_F(ReapiWire, ACancelledUploadGoesOnToo) {
  const std::string name = writeName("a", digest_);
  EXPECT_EQ(upload(name, {text_.substr(0, 3'000'000), 0, false, true}).code, grpc::CANCELLED);
  const std::int64_t at = client_.waitForOffset(name);
  ASSERT_GT(at, 0);
  EXPECT_EQ(upload(name, {text_.substr(static_cast<std::size_t>(at)), at}).code, grpc::OK);
  EXPECT_EQ(getBlob(local_.store(), "a", digest_, text_.size()).value(), text_);
}

TEST_F(ReapiWire, ACompressedUploadGoesOnAtAnUncompressedOffset) {
  const std::string name = compressedWrite("u", digest_);
  EXPECT_EQ(upload(name, {zstdCompress(text_.substr(0, 3'000'000)), 0, false}).code, grpc::ABORTED);
  EXPECT_EQ(goesOnAt(name), 3'000'000);
  const std::string rest = zstdCompress(text_.substr(3'000'000));
  const Answer written = upload(name, {rest, 3'000'000});
  EXPECT_EQ(written.code, grpc::OK) << written.message;
  EXPECT_EQ(getBlob(local_.store(), "default", digest_, text_.size()).value(), text_);
}

TEST_F(ReapiWire, RefusesOffsetsAndSizesThatCannotBe) {
  EXPECT_EQ(upload(writeName("a", digest_), {text_, -1}).code, grpc::INVALID_ARGUMENT);
  EXPECT_EQ(upload(compressedWrite("u", digest_), {text_, -1}).code, grpc::INVALID_ARGUMENT);
  EXPECT_EQ(upload(writeName("a", digest_), {"x", std::numeric_limits<std::int64_t>::max()}).code,
            grpc::INVALID_ARGUMENT);
  Digest huge = digestOf("huge");
  huge.size = kMaxBlobBytes + 1;
  const Answer refused = upload(writeName("a", huge), {"x", 0, false});
  EXPECT_EQ(refused.code, grpc::INVALID_ARGUMENT);
  EXPECT_NE(refused.message.find("at most"), std::string::npos) << refused.message;
}

TEST_F(ReapiWire, BatchesMayBeCompressed) {
  reapi::BatchUpdateBlobsRequest update;
  const std::string text(10'000, 'z');
  const auto add = [&](const Digest& digest, const std::string& data, reapi::Compressor::Value compressor) {
    auto* item = update.add_requests();
    *item->mutable_digest() = toProto(digest);
    item->set_data(data);
    item->set_compressor(compressor);
  };
  add(digestOf(text), zstdCompress(text), reapi::Compressor::ZSTD);
  add(digestOf("plain"), "plain", reapi::Compressor::IDENTITY);
  Digest shorter = digestOf(text);
  shorter.size = 100;
  add(shorter, zstdCompress(text), reapi::Compressor::ZSTD);
  add(digestOf("trailing"), zstdCompress("trailing") + "x", reapi::Compressor::ZSTD);
  add(digestOf("deflated"), "deflated", reapi::Compressor::DEFLATE);
  add(digestOf("unknown"), "unknown", static_cast<reapi::Compressor::Value>(77));
  reapi::BatchUpdateBlobsResponse updated;
  grpc::ClientContext context;
  ASSERT_TRUE(cas_->BatchUpdateBlobs(&context, update, &updated).ok());
  ASSERT_EQ(updated.responses_size(), 6);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(updated.responses(i).status().code(), i < 2 ? grpc::OK : grpc::INVALID_ARGUMENT) << i;

  reapi::BatchReadBlobsRequest read;
  *read.add_digests() = toProto(digestOf(text));
  *read.add_digests() = toProto(digestOf("plain"));
  const auto answer = [&] {
    grpc::ClientContext reading;
    reapi::BatchReadBlobsResponse out;
    EXPECT_TRUE(cas_->BatchReadBlobs(&reading, read, &out).ok());
    return out;
  };
  EXPECT_EQ(answer().responses(0).data(), text) << "nobody asked for zstd";
  read.add_acceptable_compressors(reapi::Compressor::BROTLI);
  read.add_acceptable_compressors(reapi::Compressor::ZSTD);
  const auto compressed = answer();
  EXPECT_EQ(compressed.responses(0).compressor(), reapi::Compressor::ZSTD);
  EXPECT_EQ(zstdDecompress(compressed.responses(0).data(), text.size()).value(), text);
  EXPECT_EQ(compressed.responses(1).compressor(), reapi::Compressor::IDENTITY) << "it would be larger";
  EXPECT_EQ(compressed.responses(1).data(), "plain");
}

TEST_F(ReapiWire, ABatchIsBoundedByWhatItDecompressesTo) {
  reapi::BatchUpdateBlobsRequest update;
  const std::string zeros(2'000'000, '\0');
  for (int i = 0; i < 2; ++i) {
    auto* item = update.add_requests();
    *item->mutable_digest() = toProto(digestOf(zeros));
    item->set_data(zstdCompress(zeros));
    item->set_compressor(reapi::Compressor::ZSTD);
  }
  ASSERT_LT(update.ByteSizeLong(), 10'000u);
  grpc::ClientContext context;
  reapi::BatchUpdateBlobsResponse response;
  EXPECT_EQ(cas_->BatchUpdateBlobs(&context, update, &response).error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(ReapiWire, CallsAreBoundedByCount) {
  const auto code = [](auto call) {
    grpc::ClientContext context;
    return call(context).error_code();
  };
  reapi::FindMissingBlobsRequest find;
  for (std::size_t i = 0; i <= kMaxFindMissing; ++i) *find.add_blob_digests() = toProto(digest_);
  reapi::FindMissingBlobsResponse found;
  const auto findAll = [&](auto& context) { return cas_->FindMissingBlobs(&context, find, &found); };
  EXPECT_EQ(code(findAll), grpc::INVALID_ARGUMENT);
  find.mutable_blob_digests()->RemoveLast();
  EXPECT_EQ(code(findAll), grpc::OK);
  reapi::BatchReadBlobsRequest read;
  reapi::BatchUpdateBlobsRequest update;
  for (std::size_t i = 0; i <= kMaxBatchBlobs; ++i) {
    *read.add_digests() = toProto(digestOf(""));
    *update.add_requests()->mutable_digest() = toProto(digestOf(""));
  }
  reapi::BatchReadBlobsResponse readOut;
  EXPECT_EQ(code([&](auto& context) { return cas_->BatchReadBlobs(&context, read, &readOut); }),
            grpc::INVALID_ARGUMENT);
  reapi::BatchUpdateBlobsResponse updated;
  EXPECT_EQ(code([&](auto& context) { return cas_->BatchUpdateBlobs(&context, update, &updated); }),
            grpc::INVALID_ARGUMENT);
}

TEST_F(ReapiWire, OtherDigestFunctionsAndReservedInstancesAreRefusedByName) {
  const auto all = [&](const std::string& instance, reapi::DigestFunction::Value function) {
    std::vector<grpc::Status> out;
    const auto call = [&](auto request, auto response, auto method) {
      request.set_instance_name(instance);
      request.set_digest_function(function);
      grpc::ClientContext context;
      out.push_back((cas_.get()->*method)(&context, request, &response));
    };
    using Stub = reapi::ContentAddressableStorage::Stub;
    call(reapi::FindMissingBlobsRequest(), reapi::FindMissingBlobsResponse(), &Stub::FindMissingBlobs);
    call(reapi::BatchUpdateBlobsRequest(), reapi::BatchUpdateBlobsResponse(), &Stub::BatchUpdateBlobs);
    call(reapi::BatchReadBlobsRequest(), reapi::BatchReadBlobsResponse(), &Stub::BatchReadBlobs);
    reapi::GetTreeRequest request;
    request.set_instance_name(instance);
    request.set_digest_function(function);
    *request.mutable_root_digest() = toProto(digestOf(""));
    std::vector<reapi::GetTreeResponse> pages;
    out.push_back(tree(request, pages));
    return out;
  };
  for (const auto function : {reapi::DigestFunction::UNKNOWN, reapi::DigestFunction::SHA256})
    for (const auto& status : all("a", function)) EXPECT_TRUE(status.ok()) << status.error_message();
  for (const auto& status : all("a", reapi::DigestFunction::BLAKE3)) {
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_NE(status.error_message().find("BLAKE3"), std::string::npos) << status.error_message();
  }
  for (const auto& status : all("a", static_cast<reapi::DigestFunction::Value>(99))) {
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_NE(status.error_message().find("99"), std::string::npos) << status.error_message();
  }
  for (const std::string instance : {"blobs", "a/uploads", "operations/a", "a//b", "/"})
    for (const auto& status : all(instance, reapi::DigestFunction::SHA256))
      EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << instance;
}

TEST_F(ReapiWire, GetTreeStreamsPages) {
  reapi::Directory below, root;
  below.add_files()->set_name("f");
  *below.mutable_files(0)->mutable_digest() = toProto(digestOf("f"));
  const Digest child = putBlob(local_.store(), "default", asBytes(serialiseDirectory(below))).value();
  for (const char* name : {"x", "y"}) {
    auto* node = root.add_directories();
    node->set_name(name);
    *node->mutable_digest() = toProto(child);
  }
  reapi::GetTreeRequest request;
  *request.mutable_root_digest() =
      toProto(putBlob(local_.store(), "default", asBytes(serialiseDirectory(root))).value());
  request.set_page_size(1);
  std::vector<reapi::GetTreeResponse> pages;
  EXPECT_TRUE(tree(request, pages).ok());
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[0].directories(0).directories_size(), 2);
  EXPECT_EQ(pages[1].directories(0).files(0).name(), "f");
  request.set_page_token(pages[0].next_page_token());
  pages.clear();
  EXPECT_TRUE(tree(request, pages).ok());
  EXPECT_EQ(pages.size(), 1u);
  request.set_instance_name("other");
  EXPECT_EQ(tree(request, pages).error_code(), grpc::NOT_FOUND);
  request.mutable_root_digest()->set_hash("no");
  EXPECT_EQ(tree(request, pages).error_code(), grpc::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace kiln::storage
