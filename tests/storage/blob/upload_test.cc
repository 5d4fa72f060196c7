#include "storage/blob/upload.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/faulty_blob_store.h"
#include "tests/support/local_store_harness.h"

namespace kiln::storage {
namespace {

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
  std::vector<UploadItem> gone = {{digestOf("x"), directory / "gone", ""}};
  EXPECT_EQ(uploadMissing(harness.store(), "a", gone).error().code, Code::kNotFound);
}

TEST(UploadMissing, AFullStoreIsSaid) {
  LocalStoreHarness harness;
  testing_support::FaultyBlobStore faulty(harness.store());
  faulty.fillAfter(5);
  std::vector<UploadItem> items = {{digestOf("123456"), "", "123456"}};
  EXPECT_EQ(uploadMissing(faulty, "a", items).error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace kiln::storage
