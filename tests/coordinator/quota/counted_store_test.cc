#include "coordinator/quota/counted_store.h"

#include "coordinator/quota/counted_transfers.h"
#include "coordinator/quota/usage.h"
#include "storage/blob/local_blob_store.h"
#include "tests/storage/index/index_fixture.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_directory.h"

namespace kiln::quota {
namespace {

class CountedStoreTest : public ::testing::Test {
 protected:
  // As the table has it: bytes stored and uploaded by the instance.
  std::pair<std::int64_t, std::int64_t> counted(const std::string& instance = "a") {
    auto rows = *pool_.execute(
        "SELECT coalesce(sum(amount) FILTER (WHERE resource = 1), 0)::bigint AS stored, "
        "coalesce(sum(amount) FILTER (WHERE resource = 2), 0)::bigint AS uploaded "
        "FROM usage WHERE instance = $1",
        {instance});
    return rows
        .first([](const postgres::Row& row) {
          return std::pair(row.get<std::int64_t>("stored"), row.get<std::int64_t>("uploaded"));
        })
        ->value();
  }
  Result<Digest> put(storage::BlobStore& store, const std::string& text, const std::string& instance = "a") {
    return storage::putBlob(store, instance, asBytes(text));
  }
  std::vector<Status> putAll(storage::BlobStore& store, const std::vector<std::string>& texts) {
    std::vector<storage::BlobBytes> blobs;
    for (const std::string& text : texts) blobs.push_back({digestOf(text), asBytes(text)});
    return store.putBatch("a", blobs);
  }

  testing_support::ManualClock clock_;
  testing_support::TempDirectory directory_;
  std::unique_ptr<storage::LocalBlobStore> local_ =
      storage::LocalBlobStore::open({.directory = directory_ / "store", .clock = &clock_}).value();
  postgres::Pool pool_{index::testing::newIndex(), 4};
  Quotas quotas_{QuotaRules::parse(R"({"apiVersion": "kiln/v1", "kind": "Quotas", "instances":
      {"a": {"storedBytes": 100, "uploadedBytesPerHour": 50}}})")
                     .value()};
  const Books books_{pool_, clock_, quotas_};
  CountedStore clients_{*local_, books_, Uploader::kClient};
  CountedStore workers_{*local_, books_, Uploader::kWorker};
};

using Counted = std::pair<std::int64_t, std::int64_t>;

// Whose uploads all consist of one letter.
class OneLetter final : public storage::DirectTransfers {
 public:
  explicit OneLetter(storage::BlobStore& store) : store_(store) {}
  Result<storage::BlobRoute> locate(const std::string&, const Digest&) override {
    return storage::BlobRoute{};
  }
  Result<storage::BlobRoute> beginUpload(const std::string&, const Digest&) override {
    return storage::BlobRoute{};
  }
  Status finishUpload(const std::string& instance, const Digest& digest, const std::string& upload) override {
    const std::string text(digest.size, upload.at(0));
    return storage::putBlob(store_, instance, digest, asBytes(text));
  }

 private:
  storage::BlobStore& store_;
};

TEST_F(CountedStoreTest, AnUploadCountsOnce) {
  ASSERT_TRUE(put(clients_, std::string(10, 'x')));
  EXPECT_EQ(counted(), Counted(10, 10));
  ASSERT_TRUE(put(clients_, std::string(10, 'x')));
  EXPECT_EQ(counted(), Counted(10, 10)) << "it is there already";
  ASSERT_TRUE(put(clients_, ""));
  EXPECT_EQ(counted(), Counted(10, 10));
}

TEST_F(CountedStoreTest, WhatIsBeyondTheQuotaIsRefusedAndLeavesNothing) {
  ASSERT_TRUE(put(clients_, std::string(40, 'x')));
  const auto over = put(clients_, std::string(11, 'y'));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kResourceExhausted);
  EXPECT_NE(over.error().details.find("retryAfterSeconds"), std::string::npos);
  EXPECT_EQ(counted(), Counted(40, 40));
  EXPECT_FALSE(*storage::hasBlob(*local_, "a", digestOf(std::string(11, 'y'))));
  clock_.advance(std::chrono::hours(1));
  EXPECT_TRUE(put(clients_, std::string(50, 'y')));
  clock_.advance(std::chrono::hours(1));
  EXPECT_NE(put(clients_, std::string(11, 'z')).error().message.find("storedBytes"), std::string::npos);
}

TEST_F(CountedStoreTest, AnUploadThatDoesNotEndWellIsGivenBack) {
  {
    auto writer = clients_.beginWrite("a", digestOf(std::string(30, 'x')));
    ASSERT_TRUE(writer);
    EXPECT_EQ(counted(), Counted(30, 30)) << "counted from its beginning";
    EXPECT_FALSE(put(clients_, std::string(30, 'y'))) << "so that many at once stay within it";
  }
  EXPECT_EQ(counted(), Counted(0, 0));
  auto writer = clients_.beginWrite("a", digestOf(std::string(30, 'x')));
  ASSERT_TRUE((*writer)->write(asBytes(std::string(30, 'w'))));
  EXPECT_FALSE((*writer)->commit());
  writer->reset();
  EXPECT_EQ(counted(), Counted(0, 0));
}

TEST_F(CountedStoreTest, OfABatchCountsWhatIsNewAndStored) {
  ASSERT_TRUE(put(clients_, std::string(10, 'x')));
  for (const Status& each :
       putAll(clients_, {std::string(10, 'x'), std::string(20, 'y'), std::string(20, 'y')}))
    EXPECT_TRUE(each);
  EXPECT_EQ(counted(), Counted(30, 30));
  const std::string wrong(5, 'w');
  const std::vector<storage::BlobBytes> blobs{{digestOf(std::string(5, 'v')), asBytes(wrong)}};
  EXPECT_FALSE(clients_.putBatch("a", blobs).at(0));
  EXPECT_EQ(counted(), Counted(30, 30));
  for (const Status& each : putAll(clients_, {std::string(10, '1'), std::string(11, '2')})) {
    ASSERT_FALSE(each);
    EXPECT_EQ(each.error().code, Code::kResourceExhausted);
  }
  EXPECT_EQ(counted(), Counted(30, 30));
}

TEST_F(CountedStoreTest, WhatAWorkerBringsIsStoredAndNeverRefused) {
  ASSERT_TRUE(put(workers_, std::string(200, 'x')));
  EXPECT_EQ(counted(), Counted(200, 0));
  EXPECT_FALSE(put(clients_, "y")) << "a client has no room beside it";
}

TEST_F(CountedStoreTest, UploadsPastTheCoordinatorCountOnceTheyAreThere) {
  OneLetter letters(*local_);
  CountedTransfers transfers(letters, *local_, books_, Uploader::kClient);
  const Digest digest = digestOf(std::string(40, 'x')), large = digestOf(std::string(11, 'y'));
  ASSERT_TRUE(transfers.beginUpload("a", digest));
  EXPECT_EQ(counted(), Counted(0, 0));
  EXPECT_FALSE(transfers.finishUpload("a", digest, "w")) << "other bytes";
  EXPECT_EQ(counted(), Counted(0, 0));
  ASSERT_TRUE(transfers.finishUpload("a", digest, "x"));
  EXPECT_EQ(counted(), Counted(40, 40));
  ASSERT_TRUE(transfers.beginUpload("a", digest)) << "there is no room, and none is wanted";
  ASSERT_TRUE(transfers.finishUpload("a", digest, "x"));
  EXPECT_EQ(counted(), Counted(40, 40));
  EXPECT_EQ(transfers.beginUpload("a", large).error().code, Code::kResourceExhausted);
  EXPECT_EQ(transfers.finishUpload("a", large, "y").error().code, Code::kResourceExhausted);
  EXPECT_FALSE(*storage::hasBlob(*local_, "a", large));
  CountedTransfers workers(letters, *local_, books_, Uploader::kWorker);
  ASSERT_TRUE(workers.finishUpload("a", large, "y"));
  EXPECT_EQ(counted(), Counted(51, 40));
}

TEST_F(CountedStoreTest, AnInstanceWithoutSuchLimitsIsNotCounted) {
  ASSERT_TRUE(put(clients_, std::string(500, 'x'), "b"));
  EXPECT_EQ(counted("b"), Counted(0, 0));
  quotas_.replace({});
  ASSERT_TRUE(put(clients_, std::string(500, 'x')));
  EXPECT_EQ(counted(), Counted(0, 0));
}

}  // namespace
}  // namespace kiln::quota
