#include "storage/blob/upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/faulty_blob_store.h"
#include "tests/support/local_store_harness.h"
#include "tests/support/memory_blob_store.h"

namespace kiln::storage {
namespace {

using testing::ElementsAre;

constexpr std::size_t kSmall = 256 << 10;

// Remembers in what company blobs came: the number of each batch, and the size of what came by itself.
class RecordingStore final : public BlobStore {
 public:
  explicit RecordingStore(BlobStore& inner) : inner_(inner) {}
  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override {
    alone.push_back(digest.size);
    return inner_.beginWrite(instance, digest);
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override {
    return inner_.read(instance, digest, offset, length, sink);
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    return inner_.findMissing(instance, digests);
  }
  std::vector<Status> putBatch(const std::string& instance, std::span<const BlobBytes> blobs) override {
    batches.push_back(blobs.size());
    return inner_.putBatch(instance, blobs);
  }

  std::vector<std::size_t> batches;
  std::vector<std::uint64_t> alone;

 private:
  BlobStore& inner_;
};

class UploadInBatches : public ::testing::Test {
 protected:
  void add(std::size_t size) {
    std::string bytes(size, 'b');
    bytes.replace(0, 4, std::to_string(1000 + items_.size()));
    items_.push_back({digestOf(bytes), "", bytes});
  }
  // The number of blobs that was done at each report.
  std::vector<std::size_t> upload() {
    std::vector<std::size_t> done;
    const auto uploaded =
        uploadMissing(store_, "a", items_, [&](const UploadProgress& now) { done.push_back(now.doneBlobs); });
    EXPECT_TRUE(uploaded) << uploaded.error().message;
    for (const UploadItem& item : items_)
      EXPECT_EQ(getBlob(memory_, "a", item.digest, 1 << 20).value_or("missing"), item.bytes);
    return done;
  }

  testing_support::MemoryBlobStore memory_;
  RecordingStore store_{memory_};
  std::vector<UploadItem> items_;
};

TEST_F(UploadInBatches, OnlySmallOnesTravelTogether) {
  for (const std::size_t size : {std::size_t{4}, kSmall, kSmall + 1, kSmall - 1}) add(size);
  EXPECT_THAT(upload(), ElementsAre(0, 1, 4));
  EXPECT_THAT(store_.batches, ElementsAre(3));
  EXPECT_THAT(store_.alone, ElementsAre(kSmall + 1));
}

TEST_F(UploadInBatches, ABatchEndsAtThreeMebibytes) {
  for (int i = 0; i < 26; ++i) add(kSmall);
  EXPECT_THAT(upload(), ElementsAre(0, 12, 24, 26));
  EXPECT_THAT(store_.batches, ElementsAre(12, 12, 2));
}

TEST_F(UploadInBatches, ABatchThatIsNotFullTakesOneMore) {
  for (int i = 0; i < 11; ++i) add(kSmall);
  add(kSmall - 1);
  add(kSmall);
  add(4);
  EXPECT_THAT(upload(), ElementsAre(0, 13, 14));
}

TEST_F(UploadInBatches, ABatchEndsAtAThousandBlobs) {
  for (int i = 0; i < 1001; ++i) add(4);
  EXPECT_THAT(upload(), ElementsAre(0, 1000, 1001));
  EXPECT_THAT(store_.batches, ElementsAre(1000, 1));
}

TEST_F(UploadInBatches, WithoutAnythingSmallThereIsNone) {
  EXPECT_THAT(upload(), ElementsAre(0));
  add(kSmall + 1);
  EXPECT_THAT(upload(), ElementsAre(0, 1));
  EXPECT_THAT(upload(), ElementsAre(0)) << "everything is there";
  EXPECT_TRUE(store_.batches.empty());
}

TEST(UploadMissing, SendsOnlyWhatIsMissingAndReports) {
  LocalStoreHarness harness;
  testing_support::TempDirectory directory;
  std::string large(1 << 20, 'l');
  std::ofstream(directory / "large") << large;
  std::ofstream(directory / "small") << "small";
  ASSERT_TRUE(putBlob(harness.store(), "a", asBytes("there")));
  std::vector<UploadItem> items = {{digestOf(large), directory / "large", ""},
                                   {digestOf("small"), directory / "small", ""},
                                   {digestOf("there"), "/nonexistent, never opened", ""},
                                   {digestOf("memory"), "", "memory"},
                                   {digestOf("memory"), "", "memory"},
                                   {digestOf(""), "", ""}};
  std::vector<UploadProgress> seen;
  auto done =
      uploadMissing(harness.store(), "a", items, [&](const UploadProgress& now) { seen.push_back(now); });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->totalBlobs, 3u);
  EXPECT_EQ(done->doneBlobs, 3u);
  EXPECT_EQ(done->totalBytes, large.size() + 11);
  EXPECT_EQ(done->doneBytes, done->totalBytes);
  ASSERT_GE(seen.size(), 2u);
  EXPECT_EQ(seen.front().doneBytes, 0u);
  EXPECT_EQ(getBlob(harness.store(), "a", digestOf(large), 1 << 21).value(), large);
  EXPECT_EQ(getBlob(harness.store(), "a", digestOf("memory"), 10).value(), "memory");
  EXPECT_EQ(uploadMissing(harness.store(), "a", items)->totalBlobs, 0u);
}

TEST(UploadMissing, NamesAFileThatChangedOrIsGone) {
  LocalStoreHarness harness;
  testing_support::TempDirectory directory;
  std::ofstream(directory / "f") << "new content";
  std::vector<UploadItem> changed = {{digestOf("old content"), directory / "f", ""}};
  auto refused = uploadMissing(harness.store(), "a", changed);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().message.find(directory / "f"), std::string::npos) << refused.error().message;
  const std::string large(kSmall + 1, 'o');
  std::ofstream(directory / "large") << std::string(kSmall + 1, 'n');
  changed = {{digestOf(large), directory / "large", ""}};
  refused = uploadMissing(harness.store(), "a", changed);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().message.find(directory / "large"), std::string::npos) << refused.error().message;
  for (const Digest& digest : {digestOf("x"), digestOf(large)}) {
    std::vector<UploadItem> gone = {{digest, directory / "gone", ""}};
    EXPECT_EQ(uploadMissing(harness.store(), "a", gone).error().code, Code::kNotFound);
  }
}

TEST(UploadMissing, AFullStoreIsSaid) {
  LocalStoreHarness harness;
  testing_support::FaultyBlobStore faulty(harness.store());
  faulty.fillAfter(5);
  for (const std::string& bytes : {std::string("123456"), std::string(kSmall + 1, '1')}) {
    std::vector<UploadItem> items = {{digestOf(bytes), "", bytes}};
    EXPECT_EQ(uploadMissing(faulty, "a", items).error().code, Code::kResourceExhausted);
  }
}

}  // namespace
}  // namespace kiln::storage
