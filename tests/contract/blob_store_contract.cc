#include "tests/contract/blob_store_contract.h"

#include <thread>
#include <vector>

namespace kiln::storage {

TEST_P(BlobStoreContract, ABatchIsReadBlobByBlob) {
  const std::string small = "small", large = pattern(3 << 20), damaged = pattern(4000, 7);
  for (const std::string& text : {small, large, damaged}) ASSERT_TRUE(putBlob(store(), "a", asBytes(text)));
  harness_->corrupt(digestOf(damaged));
  const std::vector<Digest> asked{digestOf(small),   digestOf("nowhere"), digestOf(large),
                                  digestOf(damaged), digestOf(""),        digestOf(small)};
  const auto blobs = store().getBatch("a", asked);
  ASSERT_EQ(blobs.size(), asked.size());
  EXPECT_EQ(blobs[0].value(), small);
  EXPECT_EQ(blobs[1].error().code, Code::kNotFound);
  EXPECT_EQ(blobs[2].value(), large);
  EXPECT_EQ(blobs[3].error().code, Code::kDataLoss);
  EXPECT_EQ(blobs[4].value(), "");
  EXPECT_EQ(blobs[5].value(), small);
  EXPECT_EQ(store().getBatch("b", asked)[0].error().code, Code::kNotFound) << "of another instance";
  EXPECT_TRUE(store().getBatch("a", {}).empty());
}

TEST_P(BlobStoreContract, GivesBackWhatWasPut) {
  for (std::size_t size : {1u, 100u, 65536u, 1u << 20, (1u << 20) + 1, 5000000u}) {
    std::string text = pattern(size);
    auto digest = putBlob(store(), "a", asBytes(text));
    ASSERT_TRUE(digest) << digest.error().message;
    EXPECT_EQ(*digest, digestOf(text));
    EXPECT_EQ(get("a", *digest), text) << size;
    EXPECT_EQ(get("a", *digest), text) << "second read of " << size;
  }
}

TEST_P(BlobStoreContract, TheEmptyBlobIsAlwaysThere) {
  Digest empty = digestOf("");
  EXPECT_TRUE(hasBlob(store(), "a", empty).value());
  EXPECT_EQ(get("a", empty), "");
  EXPECT_EQ(putBlob(store(), "a", Bytes{}).value(), empty);
}

TEST_P(BlobStoreContract, MissingBlobsAreNamedInOrder) {
  Digest there = putBlob(store(), "a", asBytes("there")).value();
  Digest first = digestOf("first"), second = digestOf("second");
  std::vector<Digest> asked{second, there, digestOf(""), first};
  EXPECT_EQ(store().findMissing("a", asked).value(), (std::vector<Digest>{second, first}));
  EXPECT_EQ(readCode(first), Code::kNotFound);
}

TEST_P(BlobStoreContract, TheSizeIsPartOfTheIdentity) {
  Digest digest = putBlob(store(), "a", asBytes("four")).value();
  digest.size = 5;
  EXPECT_FALSE(hasBlob(store(), "a", digest).value());
  EXPECT_EQ(readCode(digest), Code::kNotFound);
}

TEST_P(BlobStoreContract, ReadsRanges) {
  std::string text = pattern(3 << 20);
  Digest digest = putBlob(store(), "a", asBytes(text)).value();
  auto range = [&](std::uint64_t offset, std::uint64_t length) {
    std::string out;
    auto status = store().read("a", digest, offset, length, [&](Bytes bytes) -> Status {
      out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    });
    return status ? out : status.error().message;
  };
  EXPECT_EQ(range(10, 20), text.substr(10, 20));
  EXPECT_EQ(range(1 << 20, 0), text.substr(1 << 20));
  EXPECT_EQ(range(5, 1ull << 40), text.substr(5));
  EXPECT_EQ(range(text.size(), 0), "");
  EXPECT_EQ(readCode(digest, text.size() + 1), Code::kOutOfRange);
}

TEST_P(BlobStoreContract, RefusesBytesThatAreNotWhatWasDeclared) {
  Digest declared = digestOf("what was declared");
  auto refused = putBlob(store(), "a", declared, asBytes("what was uploaded"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(putBlob(store(), "a", declared, asBytes("what")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(putBlob(store(), "a", declared, asBytes(pattern(40))).error().code, Code::kInvalidArgument);
  EXPECT_FALSE(hasBlob(store(), "a", declared).value());
}

TEST_P(BlobStoreContract, AnAbandonedWriteLeavesNothing) {
  Digest digest = digestOf("abandoned");
  {
    auto writer = store().beginWrite("a", digest);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE((*writer)->write(asBytes("aban")));
  }
  EXPECT_FALSE(hasBlob(store(), "a", digest).value());
}

TEST_P(BlobStoreContract, PuttingTwiceSucceeds) {
  EXPECT_TRUE(putBlob(store(), "a", asBytes("twice")));
  EXPECT_TRUE(putBlob(store(), "a", asBytes("twice")));
  EXPECT_EQ(get("a", digestOf("twice")), "twice");
}

TEST_P(BlobStoreContract, AnotherInstanceSeesNothingUntilItUploadsTheBytes) {
  Digest digest = putBlob(store(), "a", asBytes("secret")).value();
  EXPECT_FALSE(hasBlob(store(), "b", digest).value());
  EXPECT_FALSE(hasBlob(store(), "", digest).value());
  auto denied = getBlob(store(), "b", digest, 100);
  auto unknown = getBlob(store(), "b", digestOf("tercse"), 100);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Code::kNotFound);
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
  EXPECT_FALSE(putBlob(store(), "b", digest, asBytes("guess!")));
  EXPECT_FALSE(hasBlob(store(), "b", digest).value());
  EXPECT_TRUE(putBlob(store(), "b", asBytes("secret")));
  EXPECT_EQ(get("b", digest), "secret");
}

TEST_P(BlobStoreContract, InstanceNamesDoNotCollideOrEscape) {
  Digest digest = putBlob(store(), "a/b", asBytes("x")).value();
  for (const char* other : {"a", "a%2Fb", "a_b", "../i-a", "."})
    EXPECT_FALSE(hasBlob(store(), other, digest).value()) << other;
  EXPECT_EQ(get("a/b", digest), "x");
  EXPECT_EQ(putBlob(store(), std::string(200, 'x'), asBytes("x")).error().code, Code::kInvalidArgument);
}

TEST_P(BlobStoreContract, ACorruptBlobIsNeverGivenOutWhole) {
  std::string text = pattern((2 << 20) + 5);
  Digest digest = putBlob(store(), "a", asBytes(text)).value();
  EXPECT_EQ(get("a", digest), text);
  harness_->corrupt(digest);
  std::uint64_t passed = 0;
  auto status = store().read("a", digest, 0, 0, [&](Bytes bytes) -> Status {
    passed += bytes.size();
    return {};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kDataLoss);
  EXPECT_LT(passed, text.size());
  // Missing from now on, and repaired by the next upload.
  EXPECT_FALSE(hasBlob(store(), "a", digest).value());
  EXPECT_TRUE(putBlob(store(), "a", asBytes(text)));
  EXPECT_EQ(get("a", digest), text);
}

TEST_P(BlobStoreContract, ARangeOfACorruptBlobFailsToo) {
  std::string text = pattern(3 << 20);
  Digest digest = putBlob(store(), "a", asBytes(text)).value();
  harness_->corrupt(digest);
  EXPECT_EQ(readCode(digest, 17), Code::kDataLoss);
}

TEST_P(BlobStoreContract, ABatchReportsEachBlob) {
  std::vector<std::string> texts;
  for (unsigned i = 0; i < 300; ++i) texts.push_back(pattern(10 + i, i));
  std::vector<BlobBytes> batch;
  for (const std::string& text : texts) batch.push_back({digestOf(text), asBytes(text)});
  batch.push_back({digestOf("other"), asBytes("wrong")});
  batch.push_back({digestOf(""), Bytes{}});
  auto statuses = store().putBatch("a", batch);
  ASSERT_EQ(statuses.size(), batch.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_TRUE(statuses[i]) << statuses[i].error().message;
    EXPECT_EQ(get("a", batch[i].digest), texts[i]);
  }
  ASSERT_FALSE(statuses[300]);
  EXPECT_EQ(statuses[300].error().code, Code::kInvalidArgument);
  EXPECT_TRUE(statuses[301]);
}

TEST_P(BlobStoreContract, TheSinksErrorEndsTheRead) {
  Digest digest = putBlob(store(), "a", asBytes(pattern(5 << 20))).value();
  auto status =
      store().read("a", digest, 0, 0, [](Bytes) -> Status { return fail(Code::kAborted, "enough"); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kAborted);
  EXPECT_EQ(status.error().message, "enough");
}

TEST_P(BlobStoreContract, ServesManyThreads) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 20; ++i) {
        std::string shared = pattern(20000, i), own = pattern(300, 1000 * t + i);
        EXPECT_TRUE(putBlob(store(), "a", asBytes(shared)));
        EXPECT_TRUE(putBlob(store(), "a", asBytes(own)));
        EXPECT_EQ(get("a", digestOf(shared)), shared);
        EXPECT_EQ(get("a", digestOf(own)), own);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace kiln::storage
