// The store that --store names, before and after it is there.
#include "storage/farm_store/farm_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "storage/blob/local_blob_store.h"
#include "tests/storage/index/index_fixture.h"
#include "tests/support/s3_server.h"
#include "tests/support/temp_directory.h"

namespace kiln::storage {
namespace {

using ::testing::HasSubstr;

TEST(FarmStore, ADirectoryToReadAppearsWhenTheFarmStoresItsFirstBlob) {
  testing_support::TempDirectory directory;
  const auto late = FarmStore::open({.place = directory / "store", .readOnly = true, .database = {}}).value();
  EXPECT_EQ(getBlob(*late, "default", digestOf("x"), 10).error().code, Code::kFailedPrecondition);
  const auto real = FarmStore::open({.place = directory / "store", .database = {}}).value();
  ASSERT_TRUE(putBlob(*real, "default", asBytes("x")));
  EXPECT_EQ(getBlob(*late, "default", digestOf("x"), 10).value(), "x");
  EXPECT_EQ(late->findMissing("default", std::array{digestOf("y")})->size(), 1u);
  EXPECT_EQ(late->beginWrite("default", digestOf("y")).error().code, Code::kPermissionDenied);
}

TEST(FarmStore, ABucketIsNamedAsOne) {
  EXPECT_TRUE(isShared("s3://bucket/prefix"));
  EXPECT_FALSE(isShared("/srv/s3"));
  EXPECT_TRUE(checkStorePlace("/anything", ""));
  EXPECT_THAT(checkStorePlace("s3://B", "").error().message, HasSubstr("is no bucket"));
  EXPECT_EQ(checkStorePlace("/anything", "/cache").error().code, Code::kInvalidArgument);
}

class Bucket : public ::testing::Test {
 protected:
  Bucket() {
    ::setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  }
  FarmStoreOptions options(const postgres::ConnectionOptions& database, bool readOnly = false) {
    return {.place = "s3://kiln-test/farm?endpoint=http://127.0.0.1:" +
                     std::to_string(testing_support::s3Server("Fake").port()),
            .readOnly = readOnly,
            .database = database};
  }
};

TEST_F(Bucket, IsOneStoreForWriterAndReader) {
  const auto database = index::testing::newIndex();
  const auto reader = FarmStore::open(options(database, true)).value();
  EXPECT_EQ(getBlob(*reader, "default", digestOf("x"), 10).error().code, Code::kFailedPrecondition);
  const auto writer = FarmStore::open(options(database)).value();
  ASSERT_TRUE(putBlob(*writer, "default", asBytes("x")));
  EXPECT_EQ(getBlob(*reader, "default", digestOf("x"), 10).value(), "x");
  EXPECT_EQ(putBlob(*reader, "default", asBytes("y")).error().code, Code::kPermissionDenied);
  const auto swept = writer->sweep({}, {.grace = std::chrono::hours(1)});
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_EQ(swept->youngReferences, 1u);
}

TEST_F(Bucket, IsReadThroughACache) {
  testing_support::TempDirectory directory;
  FarmStoreOptions cached = options(index::testing::newIndex());
  cached.place = "s3://kiln-test/cached?" + cached.place.substr(cached.place.find('?') + 1);
  cached.cache = directory / "cache";
  const auto store = FarmStore::open(cached).value();
  const Digest digest = putBlob(*store, "default", asBytes("x")).value();
  EXPECT_EQ(getBlob(*store, "default", digest, 10).value(), "x");
  EXPECT_TRUE(std::filesystem::exists(cached.cache + "/" + digest.hex() + ".1"));
}

TEST_F(Bucket, WaitsForADatabaseThatIsAway) {
  const auto store = FarmStore::open(options({.conninfo = "host=/nonexistent dbname=kiln"})).value();
  EXPECT_EQ(getBlob(*store, "default", digestOf("x"), 10).error().code, Code::kUnavailable);
  const std::string text = "x";
  const BlobBytes blob{digestOf(text), asBytes(text)};
  EXPECT_EQ(store->putBatch("default", std::span(&blob, 1)).front().error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace kiln::storage
