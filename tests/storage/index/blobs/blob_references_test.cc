// What BlobReferences promise, of those in PostgreSQL and of those in memory that other tests rely on.
#include "storage/index/blobs/blob_references.h"

#include <future>

#include "tests/storage/index/index_fixture.h"
#include "tests/support/memory_blob_references.h"

namespace kiln::index {
namespace {

using storage::BlobReferences;
using storage::PlacedBlob;

class References : public ::testing::TestWithParam<bool> {
 protected:
  References() {
    if (!GetParam()) {
      references_ = std::make_unique<testing_support::MemoryBlobReferences>();
      return;
    }
    pool_ = std::make_unique<postgres::Pool>(testing::newIndex(), 4);
    references_ = std::make_unique<PostgresBlobReferences>(*pool_);
  }
  std::optional<std::uint32_t> find(const std::string& instance, const Digest& digest) {
    const auto found = references_->find(instance, std::span(&digest, 1), now_, true);
    EXPECT_TRUE(found) << found.error().message;
    return found->front();
  }
  bool add(const std::string& instance, const Digest& digest, std::uint32_t generation = 0) {
    const PlacedBlob blob{digest, generation};
    const auto added = references_->add(instance, std::span(&blob, 1), now_);
    EXPECT_TRUE(added) << added.error().message;
    return added->front();
  }
  std::uint32_t generation(const Digest& digest) {
    return references_->generations(std::span(&digest, 1)).value().front();
  }

  TimePoint now_ = testing::kStart;
  std::unique_ptr<postgres::Pool> pool_;
  std::unique_ptr<BlobReferences> references_;
};

TEST_P(References, TheIdentityStaysAndTellsOfUse) {
  const auto first = references_->identity();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->id.size(), 32u);
  EXPECT_FALSE(first->isUsed);
  add("a", digestOf("x"));
  EXPECT_EQ(references_->identity()->id, first->id);
  EXPECT_TRUE(references_->identity()->isUsed);
}

TEST_P(References, EachInstanceHasItsOwn) {
  const Digest one = digestOf("one"), two = digestOf("two");
  Digest longer = one;
  ++longer.size;
  EXPECT_TRUE(add("a", one));
  EXPECT_TRUE(add("a", one));
  EXPECT_EQ(find("a", one), 0u);
  EXPECT_EQ(find("a", longer), std::nullopt);
  EXPECT_EQ(find("b", one), std::nullopt);
  const std::vector<Digest> asked{two, one, two, one};
  const auto found = references_->find("a", asked, now_, false);
  EXPECT_EQ(found.value(), (std::vector<std::optional<std::uint32_t>>{std::nullopt, 0, std::nullopt, 0}));
  EXPECT_TRUE(references_->find("a", {}, now_, true)->empty());
}

TEST_P(References, ABatchMayRepeatAndBeLarge) {
  std::vector<PlacedBlob> blobs;
  std::vector<Digest> digests;
  for (int i = 0; i < 2500; ++i) blobs.push_back({digestOf(std::to_string(i % 2400)), 0});
  for (const PlacedBlob& blob : blobs) digests.push_back(blob.digest);
  const auto added = references_->add("a", blobs, now_);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(*added, std::vector<bool>(2500, true));
  const auto found = references_->find("a", digests, now_, true);
  ASSERT_TRUE(found) << found.error().message;
  for (const auto& one : *found) EXPECT_EQ(one, 0u);
}

TEST_P(References, WhatIsCondemnedIsMissingForAllAndBeginsAnew) {
  const Digest digest = digestOf("bad");
  add("a", digest);
  add("b", digest);
  const auto standing = references_->standing(digest);
  ASSERT_TRUE(standing) << standing.error().message;
  EXPECT_TRUE(references_->condemn(digest, *standing).value());
  EXPECT_FALSE(references_->condemn(digest, *standing).value()) << "once";
  EXPECT_EQ(find("a", digest), std::nullopt);
  EXPECT_EQ(find("b", digest), std::nullopt);
  EXPECT_EQ(generation(digest), 1u);
  EXPECT_FALSE(add("a", digest, 0)) << "that object is condemned";
  EXPECT_EQ(find("a", digest), std::nullopt);
  EXPECT_TRUE(add("a", digest, 1));
  EXPECT_EQ(find("a", digest), 1u);
  EXPECT_EQ(find("b", digest), std::nullopt);
}

TEST_P(References, AnUploadSinceItWasLookedAtIsNotCondemned) {
  const Digest digest = digestOf("renewed");
  add("a", digest);
  const auto standing = references_->standing(digest).value();
  add("b", digest);
  EXPECT_FALSE(references_->condemn(digest, standing).value());
  EXPECT_EQ(find("a", digest), 0u);
  const auto again = references_->standing(digest).value();
  add("a", digest);
  EXPECT_FALSE(references_->condemn(digest, again).value()) << "uploaded by the same instance";
}

TEST_P(References, WhatNobodyAddedCanBeCondemned) {
  const Digest digest = digestOf("stray");
  EXPECT_TRUE(references_->condemn(digest, references_->standing(digest).value()).value());
  EXPECT_EQ(generation(digest), 1u);
}

// Whoever adds and whoever condemns at once: an add that was told that it counts, counts.
TEST_P(References, AddsAndCondemnationsAreOrdered) {
  for (int round = 0; round < 30; ++round) {
    const Digest digest = digestOf("race " + std::to_string(round));
    add("a", digest);
    const auto standing = references_->standing(digest).value();
    auto condemned =
        std::async(std::launch::async, [&] { return references_->condemn(digest, standing).value(); });
    const bool counts = add("b", digest);
    EXPECT_NE(condemned.get(), counts);
    EXPECT_EQ(find("b", digest).has_value(), counts);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, References, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "PostgreSQL" : "Memory"; });

}  // namespace
}  // namespace kiln::index
