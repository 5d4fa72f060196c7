#include "storage/blob/metered_blob_store.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include "tests/support/faulty_blob_store.h"
#include "tests/support/local_store_harness.h"

namespace kiln::storage {
namespace {

// The contract suite over both decorators at once.
class DecoratedHarness final : public BlobStoreHarness {
 public:
  BlobStore& store() override { return metered_; }
  void corrupt(const Digest& digest) override { local_.corrupt(digest); }

 private:
  LocalStoreHarness local_;
  testing_support::FaultyBlobStore faulty_{local_.store()};
  prometheus::Registry registry_;
  MeteredBlobStore metered_{faulty_, registry_, "test"};
};

INSTANTIATE_TEST_SUITE_P(Decorated, BlobStoreContract,
                         testing::Values([] { return std::make_unique<DecoratedHarness>(); }));

TEST(MeteredBlobStore, CountsBytesAndOutcomes) {
  LocalStoreHarness local;
  prometheus::Registry registry;
  MeteredBlobStore metered(local.store(), registry, "cas");
  ASSERT_TRUE(putBlob(metered, "a", asBytes("12345")));
  EXPECT_TRUE(getBlob(metered, "a", digestOf("12345"), 10));
  EXPECT_FALSE(getBlob(metered, "a", digestOf("absent"), 10));
  const std::vector<Digest> both{digestOf("12345"), digestOf("absent")};
  EXPECT_EQ(metered.getBatch("a", both).size(), 2u);
  std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  for (const char* line :
       {"kiln_blob_written_bytes_total{store=\"cas\"} 5", "kiln_blob_read_bytes_total{store=\"cas\"} 10",
        "kiln_blob_calls_total{call=\"read\",code=\"NOT_FOUND\",store=\"cas\"} 2",
        "kiln_blob_calls_total{call=\"read\",code=\"OK\",store=\"cas\"} 2",
        "kiln_blob_calls_total{call=\"write\",code=\"OK\",store=\"cas\"} 1"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

}  // namespace
}  // namespace kiln::storage
