// What a caller does with a bucket by itself, and what it gains by it.
#include "storage/direct/http_mover.h"
#include "tests/storage/s3/s3_harness.h"

namespace kiln::s3 {
namespace {

using testing::S3Harness;

class S3Direct : public ::testing::TestWithParam<std::string> {
 protected:
  Status upload(const std::string& instance, const Digest& digest, const std::string& bytes) {
    const auto route = store().beginUpload(instance, digest);
    if (!route) return fail(route.error());
    upload_ = route->upload;
    KILN_TRY(mover_.put(*route, Body::of(asBytes(bytes))));
    return store().finishUpload(instance, digest, upload_);
  }
  Result<std::string> download(const std::string& instance, const Digest& digest) {
    KILN_ASSIGN(const auto route, store().locate(instance, digest));
    std::string out;
    std::uint64_t done = 0;
    KILN_TRY(mover_.get(route, digest.size, done, [&](Bytes bytes) -> Status {
      out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    }));
    return out;
  }
  S3BlobStore& store() { return harness_.store(); }
  // versitygw 1.0.14 refuses URLs that sign x-amz-checksum-sha256; Amazon refuses those that do not.
  bool takesUploads() const { return GetParam() != "Versity"; }

  S3Harness harness_{GetParam()};
  storage::HttpMover mover_{{}, {}};
  std::string upload_;
};

TEST_P(S3Direct, BytesGoUpAndComeDownPastTheStore) {
  if (!takesUploads()) GTEST_SKIP() << GetParam() << " refuses URLs that sign a checksum";
  const std::string text = std::string(300'000, 'x') + "end";
  const Digest digest = digestOf(text);
  const Status up = upload("a", digest, text);
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_EQ(storage::getBlob(store(), "a", digest, 1 << 20).value(), text);
  EXPECT_EQ(download("a", digest).value(), text);
  EXPECT_EQ(store().locate("b", digest).error().code, Code::kNotFound) << "not of that instance";
  EXPECT_EQ(store().finishUpload("a", digest, upload_).error().code, Code::kFailedPrecondition) << "once";
}

TEST_P(S3Direct, OnlyWhoUploadsTheBytesGainsTheBlob) {
  if (!takesUploads()) GTEST_SKIP() << GetParam() << " refuses URLs that sign a checksum";
  const std::string text(100'000, 'y');
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  const auto route = store().beginUpload("b", digest);
  ASSERT_TRUE(route) << route.error().message;
  EXPECT_EQ(store().finishUpload("b", digest, route->upload).error().code, Code::kFailedPrecondition);
  EXPECT_FALSE(hasBlob(store(), "b", digest).value());
  // What one instance has uploaded is not another's.
  ASSERT_TRUE(upload("c", digest, text));
  const auto own = store().beginUpload("c", digest).value();
  ASSERT_TRUE(mover_.put(own, Body::of(asBytes(text))));
  EXPECT_EQ(store().finishUpload("b", digest, own.upload).error().code, Code::kFailedPrecondition);
  for (const std::string& guess : {std::string(), std::string("../x"), std::string(31, '0')})
    EXPECT_EQ(store().finishUpload("b", digest, guess).error().code, Code::kInvalidArgument) << guess;
  EXPECT_TRUE(hasBlob(store(), "c", digest).value());
}

TEST_P(S3Direct, OtherBytesAreRefused) {
  const std::string text(100'000, 'z');
  std::string other = text;
  other[5] = 'Z';
  const Status up = upload("a", digestOf(text), other);
  EXPECT_FALSE(up);
  EXPECT_FALSE(hasBlob(store(), "a", digestOf(text)).value());
}

TEST_P(S3Direct, AUrlIsGoodForItsOwnRequestOnly) {
  if (GetParam() != "Versity") GTEST_SKIP() << GetParam() << " checks no signatures";
  const std::string text(100'000, 'q'), secret(100'000, 's');
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  const Digest other = putBlob(store(), "b", asBytes(secret)).value();
  EXPECT_EQ(download("a", digest).value(), text);
  auto route = store().locate("a", digest).value();
  const std::string key = S3BlobStore::keyOf({digest, 0}), elsewhere = S3BlobStore::keyOf({other, 0});
  route.url.replace(route.url.find(key), key.size(), elsewhere);
  std::uint64_t done = 0;
  EXPECT_FALSE(mover_.get(route, other.size, done, [](Bytes) -> Status { return {}; }));
  EXPECT_EQ(done, 0u);
}

TEST_P(S3Direct, ACorruptObjectIsReplacedByAnUpload) {
  if (!takesUploads()) GTEST_SKIP() << GetParam() << " refuses URLs that sign a checksum";
  const std::string text(100'000, 'r');
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  harness_.corrupt(digest);
  const Status up = upload("b", digest, text);
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_EQ(storage::getBlob(store(), "b", digest, 1 << 20).value(), text);
  EXPECT_EQ(harness_.references().standing(digest)->generation, 1u);
}

TEST_P(S3Direct, NothingIsMovedSoThatIsEmptyOrTooLarge) {
  EXPECT_EQ(store().beginUpload("a", digestOf("")).error().code, Code::kFailedPrecondition);
  const Digest huge{digestOf("huge").hash, std::uint64_t{6} << 30};
  EXPECT_EQ(store().beginUpload("a", huge).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(store().locate("a", huge).error().code, Code::kFailedPrecondition);
}

TEST(HttpMover, FollowsNoRouteThatIsNone) {
  storage::HttpMover mover({}, {});
  const std::string text = "x";
  for (const storage::BlobRoute& route :
       {storage::BlobRoute{"file:///etc/passwd", {}, ""}, storage::BlobRoute{"http://h/x y", {}, ""},
        storage::BlobRoute{"http://h/x", {"Cookie: a=b"}, ""},
        storage::BlobRoute{"http://h/x", {"x-amz-a: b\r\nCookie: c"}, ""}})
    EXPECT_EQ(mover.put(route, Body::of(asBytes(text))).error().code, Code::kInvalidArgument) << route.url;
}

INSTANTIATE_TEST_SUITE_P(Servers, S3Direct, ::testing::ValuesIn(testing_support::s3ServersAtHand()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::s3
