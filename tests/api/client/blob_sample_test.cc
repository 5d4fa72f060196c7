#include "api/client/blob_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "manifest/json/json.h"
#include "tests/support/memory_blob_store.h"

namespace kiln::client {
namespace {

using testing::HasSubstr;

constexpr char kInstance[] = "default";
constexpr std::uint64_t kPlenty = 1 << 20;

struct BlobSampleTest : testing::Test {
  testing_support::MemoryBlobStore store;
  std::vector<Digest> named;  // config and layers
  std::vector<Digest> manifests = {artifact()};
  std::mt19937_64 random{1};

  Digest put(const std::string& bytes) { return *storage::putBlob(store, kInstance, asBytes(bytes)); }

  // The golden artifact, with blobs of this store for what it names.
  Digest artifact() {
    std::ifstream file(KILN_GOLDEN "/v1/artifact.json");
    Json oci = *parseJson(std::string(std::istreambuf_iterator(file), {}));
    const auto fill = [&](Json& descriptor) {
      named.push_back(put("blob " + std::to_string(named.size())));
      descriptor["digest"] = named.back().text();
      descriptor["size"] = named.back().size;
    };
    fill(oci["config"]);
    for (Json& layer : oci["layers"]) fill(layer);
    return put(*toCanonicalJson(oci));
  }
  Result<BlobSample> sample(std::uint64_t limit = kPlenty) {
    return sampleBlobs(store, kInstance, manifests, limit, random);
  }
};

TEST_F(BlobSampleTest, ReadsEveryBlobWithinTheLimitOnce) {
  manifests.push_back(manifests.front());
  const auto found = sample();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->artifacts, 1u);
  EXPECT_EQ(found->blobs, 1 + named.size());
  std::uint64_t bytes = manifests.front().size;
  for (const Digest& digest : named) bytes += digest.size;
  EXPECT_EQ(found->bytes, bytes);
  EXPECT_TRUE(found->problems.empty());
}

TEST_F(BlobSampleTest, StopsAtTheLimit) {
  const std::uint64_t limit = manifests.front().size + named.front().size;
  const auto found = sample(limit);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->blobs, 2u);
  EXPECT_LE(found->bytes, limit);
  EXPECT_EQ(sample(0)->blobs, 1u);  // the manifest says what there is
}

TEST_F(BlobSampleTest, NamesABlobThatIsGone) {
  store.forget(kInstance, named.back());
  const auto found = sample();
  ASSERT_TRUE(found);
  ASSERT_EQ(found->problems.size(), 1u);
  EXPECT_THAT(found->problems.front(), HasSubstr(named.back().text()));
  EXPECT_THAT(found->problems.front(), HasSubstr("of artifact " + manifests.front().text()));
}

TEST_F(BlobSampleTest, NamesABlobWithOtherBytes) {
  for (const Digest& damaged : {named.front(), named.back()}) {
    store.flipBit(kInstance, damaged);
    const auto found = sample();
    ASSERT_TRUE(found);
    ASSERT_EQ(found->problems.size(), 1u);
    EXPECT_THAT(found->problems.front(), HasSubstr(damaged.text()));
    store.flipBit(kInstance, damaged);
  }
}

TEST_F(BlobSampleTest, ADamagedManifestIsAProblemAndNotRead) {
  store.flipBit(kInstance, manifests.front());
  const auto found = sample();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->artifacts, 0u);
  EXPECT_EQ(found->problems.size(), 1u);
  manifests = {put("{}")};
  EXPECT_EQ(sample()->problems.size(), 1u);
}

TEST_F(BlobSampleTest, AStoreThatCannotBeAskedIsAnError) {
  struct Absent final : storage::BlobStore {
    Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string&, const Digest&) override {
      return fail(Code::kUnavailable, "away");
    }
    Status read(const std::string&, const Digest&, std::uint64_t, std::uint64_t,
                const storage::ByteSink&) override {
      return fail(Code::kUnavailable, "away");
    }
    Result<std::vector<Digest>> findMissing(const std::string&, std::span<const Digest>) override {
      return fail(Code::kUnavailable, "away");
    }
  } absent;
  const auto found = sampleBlobs(absent, kInstance, manifests, kPlenty, random);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace kiln::client
