// What BlobReferences promise, of those in PostgreSQL and of those in memory that other tests rely on.
#include "storage/index/blobs/blob_references.h"

#include <algorithm>
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
    return references_->begin(std::span(&digest, 1), now_).value().front();
  }
  bool condemn(const Digest& digest, const BlobReferences::Standing& standing) {
    return references_->condemn(digest, standing, now_).value();
  }
  std::vector<std::string> listed(const std::optional<Digest>& after = {}, std::size_t most = 100) {
    std::vector<std::string> out;
    const auto page = references_->list(after, most);
    EXPECT_TRUE(page) << page.error().message;
    for (const auto& held : *page) {
      out.push_back(held.blob.digest.hex().substr(0, 4) + "." + std::to_string(held.blob.generation));
      for (const auto& holder : held.holders) out.back() += (holder.counts ? " " : " -") + holder.instance;
    }
    return out;
  }
  std::string nameOf(const Digest& digest, int generation, const std::string& holders = "") {
    return digest.hex().substr(0, 4) + "." + std::to_string(generation) + holders;
  }
  BlobReferences::Released release(const Digest& digest, std::vector<std::string> instances) {
    const BlobReferences::Unneeded one{digest, std::move(instances)};
    auto released = references_->release(std::span(&one, 1), now_ - std::chrono::hours(24), now_);
    EXPECT_TRUE(released) << released.error().message;
    return released.value();
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
  EXPECT_TRUE(condemn(digest, *standing));
  EXPECT_FALSE(condemn(digest, *standing)) << "once";
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
  EXPECT_FALSE(condemn(digest, standing));
  EXPECT_EQ(find("a", digest), 0u);
  const auto again = references_->standing(digest).value();
  add("a", digest);
  EXPECT_FALSE(condemn(digest, again)) << "uploaded by the same instance";
}

TEST_P(References, WhatNobodyAddedCanBeCondemned) {
  const Digest digest = digestOf("stray");
  EXPECT_TRUE(condemn(digest, references_->standing(digest).value()));
  EXPECT_EQ(generation(digest), 1u);
}

// Whoever adds and whoever condemns at once: an add that was told that it counts, counts.
TEST_P(References, AddsAndCondemnationsAreOrdered) {
  for (int round = 0; round < 30; ++round) {
    const Digest digest = digestOf("race " + std::to_string(round));
    add("a", digest);
    const auto standing = references_->standing(digest).value();
    auto condemned = std::async(std::launch::async, [&] { return condemn(digest, standing); });
    const bool counts = add("b", digest);
    EXPECT_NE(condemned.get(), counts);
    EXPECT_EQ(find("b", digest).has_value(), counts);
  }
}

TEST_P(References, ASweepSeesWhoHoldsWhatAndWhatNobodyCameToHold) {
  const Digest held = digestOf("held"), stray = digestOf("stray"), renewed = digestOf("renewed");
  add("a", held), add("b", held), add("a", renewed);
  generation(stray);
  condemn(renewed, references_->standing(renewed).value());
  std::vector<std::pair<Digest, std::string>> all{
      {held, nameOf(held, 0, " a b")}, {stray, nameOf(stray, 0)}, {renewed, nameOf(renewed, 1, " -a")}};
  std::ranges::sort(all);
  EXPECT_EQ(listed(), (std::vector{all[0].second, all[1].second, all[2].second}));
  EXPECT_EQ(listed(all[0].first, 1), std::vector{all[1].second});
  EXPECT_TRUE(listed(all[2].first).empty());
}

TEST_P(References, WhatIsReleasedIsGoneOnceNobodyHoldsIt) {
  const Digest digest = digestOf("shared");
  add("a", digest), add("b", digest);
  EXPECT_EQ(release(digest, {"a", "b"}).references, 0u) << "they are young";
  now_ += std::chrono::hours(25);
  EXPECT_EQ(release(digest, {"a"}).references, 1u);
  EXPECT_EQ(find("a", digest), std::nullopt);
  EXPECT_EQ(references_->find("b", std::span(&digest, 1), now_, false)->front(), 0u);
  const auto rest = release(digest, {"b"});
  EXPECT_EQ(rest.references, 1u);
  EXPECT_EQ(rest.blobs, std::vector{digest});
  EXPECT_TRUE(listed().empty());
  EXPECT_FALSE(add("a", digest, 0)) << "an upload that was on its way";
  EXPECT_EQ(generation(digest), 1u);
  EXPECT_TRUE(add("a", digest, 1));
}

TEST_P(References, WhatWasPromisedOrBegunMeanwhileStays) {
  const Digest promised = digestOf("promised"), begun = digestOf("begun");
  add("a", promised);
  generation(begun);
  now_ += std::chrono::hours(25);
  find("a", promised);
  generation(begun);
  EXPECT_EQ(release(promised, {"a"}).references, 0u);
  EXPECT_TRUE(release(begun, {}).blobs.empty());
  now_ += std::chrono::hours(25);
  EXPECT_EQ(release(begun, {}).blobs, std::vector{begun});
}

TEST_P(References, CondemnedObjectsAreRemovedTwiceAndCorruptOnesLater) {
  const Digest swept = digestOf("swept"), corrupt = digestOf("corrupt");
  generation(swept);
  add("a", corrupt);
  condemn(corrupt, references_->standing(corrupt).value());
  now_ += std::chrono::hours(25);
  release(swept, {});
  auto due = references_->due(now_, 10).value();
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due.front().digest, swept);
  ASSERT_TRUE(references_->removed(due, now_ + std::chrono::hours(24)));
  EXPECT_TRUE(references_->due(now_, 10)->empty());
  now_ += std::chrono::hours(24);
  due = references_->due(now_, 10).value();
  ASSERT_EQ(due.size(), 1u) << "once more";
  ASSERT_TRUE(references_->removed(due, now_));
  EXPECT_TRUE(references_->due(now_, 10)->empty());
  now_ += BlobReferences::kKeepCorrupt;
  due = references_->due(now_, 10).value();
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due.front().digest, corrupt);
  EXPECT_EQ(due.front().generation, 0u);
}

TEST_P(References, AScrubGoesOnWhereItStopped) {
  ASSERT_TRUE(references_->identity());
  EXPECT_EQ(references_->scrubbedTo().value(), std::nullopt);
  ASSERT_TRUE(references_->scrubTo(digestOf("here")));
  EXPECT_EQ(references_->scrubbedTo().value(), digestOf("here"));
  ASSERT_TRUE(references_->scrubTo(std::nullopt));
  EXPECT_EQ(references_->scrubbedTo().value(), std::nullopt);
}

// Whoever adds and whoever releases at once: an add that was told that it counts, counts.
TEST_P(References, AddsAndSweepsAreOrdered) {
  for (int round = 0; round < 30; ++round) {
    const Digest digest = digestOf("sweep " + std::to_string(round));
    add("a", digest);
    now_ += std::chrono::hours(25);
    auto released = std::async(std::launch::async, [&] { return release(digest, {"a"}); });
    const bool counts = add("b", digest);
    EXPECT_NE(released.get().blobs.empty(), !counts);
    EXPECT_EQ(find("b", digest).has_value(), counts);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, References, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "PostgreSQL" : "Memory"; });

}  // namespace
}  // namespace kiln::index
