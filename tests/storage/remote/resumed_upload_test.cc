// Uploads that break off and go on into an S3 store, whose writer has sent some parts by then and holds the
// begun one.
#include <gtest/gtest.h>

#include "storage/remote/resource_name.h"
#include "storage/remote/zstd_codec.h"
#include "tests/storage/remote/wire_client.h"
#include "tests/storage/s3/s3_harness.h"
#include "tests/support/cas_server.h"
#include "tests/support/fake_s3.h"

namespace kiln::storage {
namespace {

constexpr std::size_t kPart = 5 << 20;

std::string pattern(std::size_t size) {
  std::string text;
  for (std::uint64_t i = 0; text.size() < size; ++i) text += std::to_string(i * 7919) + "\n";
  text.resize(size);
  return text;
}

class ResumedUpload : public testing::TestWithParam<std::string> {
 protected:
  // Sends up to each of these places in a stream of its own, and the rest in the last.
  void sendInPieces(const std::string& name, const std::vector<std::size_t>& breaks) {
    std::size_t at = 0;
    for (const std::size_t to : breaks) {
      const auto broken =
          client_.upload(name, {text_.substr(at, to - at), static_cast<std::int64_t>(at), false});
      ASSERT_EQ(broken.code, grpc::ABORTED) << to << ": " << broken.message;
      ASSERT_EQ(client_.goesOnAt(name), static_cast<std::int64_t>(to));
      at = to;
    }
    const auto rest = client_.upload(name, {text_.substr(at), static_cast<std::int64_t>(at)});
    ASSERT_EQ(rest.code, grpc::OK) << rest.message;
    EXPECT_EQ(rest.committed, static_cast<std::int64_t>(text_.size()));
  }
  std::string stored() {
    const auto text = getBlob(harness_.store(), "a", digest_, text_.size());
    return text ? *text : text.error().message;
  }

  s3::testing::S3Harness harness_{GetParam()};
  testing_support::CasServer server_{harness_.store()};
  WireClient client_{server_.channel()};
  const std::string text_ = pattern(2 * kPart + 12'345);
  const Digest digest_ = digestOf(text_);
};

TEST_P(ResumedUpload, GoesOnWithinAPartAndAtItsEdge) {
  sendInPieces(writeName("a", digest_), {kPart - 1'000'000, kPart, kPart + 2'000'000, 2 * kPart});
  EXPECT_EQ(stored(), text_);
}

TEST_P(ResumedUpload, ABlobThatGoesUpWholeGoesOnToo) {
  const std::string text = text_.substr(0, kPart - 1);
  const std::string name = writeName("a", digestOf(text));
  EXPECT_EQ(client_.upload(name, {text.substr(0, 2'000'000), 0, false}).code, grpc::ABORTED);
  EXPECT_EQ(client_.upload(name, {text.substr(2'000'000), 2'000'000}).code, grpc::OK);
  EXPECT_EQ(getBlob(harness_.store(), "a", digestOf(text), text.size()).value(), text);
}

TEST_P(ResumedUpload, ACompressedOneGoesOnAtAnUncompressedOffset) {
  const std::string name =
      "a/uploads/u/compressed-blobs/zstd/" + digest_.hex() + "/" + std::to_string(digest_.size);
  const std::size_t at = kPart + 2'000'000;
  EXPECT_EQ(client_.upload(name, {zstdCompress(text_.substr(0, at)), 0, false}).code, grpc::ABORTED);
  EXPECT_EQ(client_.goesOnAt(name), static_cast<std::int64_t>(at));
  const auto rest = client_.upload(name, {zstdCompress(text_.substr(at)), static_cast<std::int64_t>(at)});
  EXPECT_EQ(rest.code, grpc::OK) << rest.message;
  EXPECT_EQ(stored(), text_);
}

TEST_P(ResumedUpload, OtherBytesAfterTheBreakAreNeverStored) {
  const std::string name = writeName("a", digest_);
  const std::size_t at = kPart + 2'000'000;
  EXPECT_EQ(client_.upload(name, {text_.substr(0, at), 0, false}).code, grpc::ABORTED);
  std::string rest = text_.substr(at);
  rest.back() ^= 1;
  EXPECT_EQ(client_.upload(name, {rest, static_cast<std::int64_t>(at)}).code, grpc::INVALID_ARGUMENT);
  EXPECT_FALSE(harness_.hasObject(s3::S3BlobStore::keyOf({digest_, 0})));
  EXPECT_EQ(client_.goesOnAt(name), 0) << "it begins again";
  sendInPieces(name, {});
  EXPECT_EQ(stored(), text_);
}

// As one that goes on.
TEST_P(ResumedUpload, AnotherClientsWholeUploadMeanwhileIsNoHarm) {
  const std::string name = writeName("a", digest_);
  const std::size_t at = kPart + 2'000'000;
  EXPECT_EQ(client_.upload(name, {text_.substr(0, at), 0, false}).code, grpc::ABORTED);
  ASSERT_TRUE(putBlob(harness_.store(), "b", digest_, asBytes(text_)));
  const auto rest = client_.upload(name, {text_.substr(at), static_cast<std::int64_t>(at)});
  EXPECT_EQ(rest.code, grpc::OK) << rest.message;
  EXPECT_EQ(stored(), text_);
}

INSTANTIATE_TEST_SUITE_P(Servers, ResumedUpload, testing::ValuesIn(testing_support::s3ServersAtHand()),
                         [](const auto& info) { return info.param; });

// What nobody comes back for costs nothing at the server.
TEST(DroppedUpload, LeavesNoPartsBehind) {
  testing_support::FakeS3 fake;
  testing_support::HttpListener listener{
      [&](const testing_support::HttpSeen& seen) { return fake.answer(seen); }};
  s3::testing::S3Harness harness("Fake", listener.port());
  {
    testing_support::CasServer server(harness.store());
    WireClient client(server.channel());
    const std::string text = pattern(2 * kPart);
    const std::string name = writeName("a", digestOf(text));
    EXPECT_EQ(client.upload(name, {text.substr(0, kPart + 2'000'000), 0, false}).code, grpc::ABORTED);
    EXPECT_EQ(fake.uploadsOpen(), 1u);
    EXPECT_EQ(client.upload(name, {text.substr(0, 2'000'000), 0, false}).code, grpc::ABORTED);
    EXPECT_EQ(fake.uploadsOpen(), 0u) << "it was begun again";
    EXPECT_EQ(client.upload(name, {text.substr(2'000'000, kPart), 2'000'000, false}).code, grpc::ABORTED);
    EXPECT_EQ(fake.uploadsOpen(), 1u);
  }
  EXPECT_EQ(fake.uploadsOpen(), 0u);
}

}  // namespace
}  // namespace kiln::storage
