// The store on every server at hand (tests/support/s3_server.h), and what it does when things go wrong.
#include "storage/s3/s3_blob_store.h"

#include <thread>

#include "tests/storage/s3/s3_harness.h"
#include "tests/support/fault_proxy.h"

namespace kiln::s3 {
namespace {

using testing::S3Harness;
using testing_support::Fault;
using testing_support::FaultProxy;
using Kind = Fault::Kind;

std::vector<storage::BlobStoreHarnessFactory> harnesses() {
  std::vector<storage::BlobStoreHarnessFactory> out;
  for (const std::string& server : testing_support::s3ServersAtHand())
    out.push_back([server] { return std::make_unique<S3Harness>(server); });
  return out;
}

std::string nameOf(std::size_t index) {
  return testing_support::s3ServersAtHand().at(index);
}

}  // namespace
}  // namespace kiln::s3

namespace kiln::storage {
INSTANTIATE_TEST_SUITE_P(S3, BlobStoreContract, testing::ValuesIn(s3::harnesses()),
                         [](const auto& info) { return s3::nameOf(info.index); });
}  // namespace kiln::storage

namespace kiln::s3 {
namespace {

std::string pattern(std::size_t size, unsigned seed = 1) {
  std::string text(size, '\0');
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (char& c : text)
    c = static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  return text;
}

class S3Store : public ::testing::TestWithParam<std::string> {
 protected:
  FaultProxy proxy_{testing_support::s3Server(GetParam()).port()};
  S3Harness harness_{GetParam(), proxy_.port()};
  S3BlobStore& store() { return harness_.store(); }
  Result<std::string> get(const Digest& digest) { return storage::getBlob(store(), "a", digest, 1ull << 32); }
  std::string range(const Digest& digest, std::uint64_t offset, std::uint64_t length) {
    std::string out;
    const Status status = store().read("a", digest, offset, length, [&](Bytes bytes) -> Status {
      out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    });
    return status ? out : std::string(codeName(status.error().code)) + " " + status.error().message;
  }
};

TEST_P(S3Store, LargeBlobsGoUpInParts) {
  const std::string text = pattern((12 << 20) + 345);
  const auto digest = putBlob(store(), "a", asBytes(text));
  ASSERT_TRUE(digest) << digest.error().message;
  EXPECT_EQ(get(*digest).value(), text);
  EXPECT_EQ(range(*digest, (11 << 20) + 5, 0), text.substr((11 << 20) + 5));
  // Once more, by another instance: what is there is read back.
  ASSERT_TRUE(putBlob(store(), "b", asBytes(text)));
  EXPECT_EQ(storage::getBlob(store(), "b", *digest, 1ull << 32).value(), text);
}

TEST_P(S3Store, WrongBytesInPartsAreNeverCompleted) {
  const Digest declared{digestOf("other").hash, 11 << 20};
  const auto put = putBlob(store(), "a", declared, asBytes(pattern(11 << 20)));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::kInvalidArgument);
  EXPECT_FALSE(harness_.hasObject(S3BlobStore::keyOf({declared, 0})));
}

TEST_P(S3Store, ARangeIsVerifiedByItsBlocksOnceTheBlobWasRead) {
  const std::string text = pattern((4 << 20) + 17);
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(range(digest, 5, 10), text.substr(5, 10));
    EXPECT_EQ(range(digest, (1 << 20) - 1, 2), text.substr((1 << 20) - 1, 2));
    EXPECT_EQ(range(digest, 4 << 20, 0), text.substr(4 << 20));
    EXPECT_EQ(range(digest, 1000, 3 << 20), text.substr(1000, 3 << 20));
  }
  harness_.corrupt(digest);  // in its third block
  EXPECT_EQ(range(digest, 5, 10), text.substr(5, 10)) << "this block is as it was";
  EXPECT_TRUE(range(digest, (2 << 20) + 5, 10).starts_with("DATA_LOSS"));
  EXPECT_FALSE(hasBlob(store(), "a", digest).value());
}

TEST_P(S3Store, ACorruptObjectIsPutAsideForEveryInstance) {
  const std::string text = pattern(3000);
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  ASSERT_TRUE(putBlob(store(), "b", asBytes(text)));
  const std::string first = harness_.key(digest);
  harness_.corrupt(digest);
  EXPECT_EQ(get(digest).error().code, Code::kDataLoss);
  EXPECT_FALSE(hasBlob(store(), "b", digest).value());
  ASSERT_TRUE(putBlob(store(), "a", asBytes(text)));
  EXPECT_EQ(harness_.key(digest), first + ".1");
  EXPECT_EQ(get(digest).value(), text);
  EXPECT_TRUE(harness_.hasObject(first)) << "quarantined where it is";
  EXPECT_FALSE(hasBlob(store(), "b", digest).value()) << "b has not uploaded it again";
}

TEST_P(S3Store, AnUploadOverACorruptObjectIsStoredAnew) {
  const std::string text = pattern(3000, 2);
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  harness_.corrupt(digest);
  ASSERT_TRUE(putBlob(store(), "b", asBytes(text)));
  EXPECT_EQ(storage::getBlob(store(), "b", digest, 1 << 20).value(), text);
}

TEST_P(S3Store, ALostObjectIsMissing) {
  const Digest digest = putBlob(store(), "a", asBytes("lost")).value();
  ASSERT_TRUE(harness_.direct().remove(harness_.key(digest)));
  EXPECT_EQ(get(digest).error().code, Code::kDataLoss);
  EXPECT_FALSE(hasBlob(store(), "a", digest).value());
  ASSERT_TRUE(putBlob(store(), "a", asBytes("lost")));
  EXPECT_EQ(get(digest).value(), "lost");
}

// As versitygw does while two write one object.
TEST_P(S3Store, AnObjectThatIsAwayForAMomentIsNotLost) {
  const std::string text = pattern((1 << 20) + 5);
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  int looks = 0;
  harness_.options().client.retry.wait = [&](Duration) {
    if (++looks % 3 != 0) return;
    EXPECT_TRUE(
        harness_.direct().put(harness_.key(digest), Body::of(asBytes(text)), digest, Existing::kReplace));
  };
  harness_.reopen();
  for (int i = 0; i < 2; ++i) {  // a stream, and blocks that are known by then
    ASSERT_TRUE(harness_.direct().remove(harness_.key(digest)));
    EXPECT_EQ(range(digest, 5, 10), text.substr(5, 10));
  }
  EXPECT_EQ(looks, 6);
  EXPECT_TRUE(hasBlob(store(), "a", digest).value());
}

TEST_P(S3Store, OpensAgainAndRefusesWhatIsNotItsOwn) {
  const Digest digest = putBlob(store(), "a", asBytes("kept")).value();
  harness_.reopen();
  EXPECT_EQ(get(digest).value(), "kept");
  testing_support::MemoryBlobReferences strange(std::string(32, '1'));
  EXPECT_EQ(S3BlobStore::open(harness_.options(), strange).error().code, Code::kFailedPrecondition);
  S3BlobStoreOptions elsewhere = harness_.options();
  elsewhere.client.location.prefix = "elsewhere/";
  EXPECT_EQ(S3BlobStore::open(elsewhere, harness_.references()).error().code, Code::kFailedPrecondition);
  const std::string newer = "kiln-s3-blob-store 2\n";
  ASSERT_TRUE(harness_.direct().put("kiln-blob-store", Body::of(asBytes(newer)), digestOf(newer),
                                    Existing::kReplace));
  EXPECT_EQ(S3BlobStore::open(harness_.options(), harness_.references()).error().code,
            Code::kFailedPrecondition);
}

// Each fault strikes twice and then no more: the call succeeds, with the right bytes.
TEST_P(S3Store, APutSurvivesFaults) {
  unsigned seed = 100;
  for (const std::size_t size : {std::size_t{3000}, std::size_t{2 << 20}})
    for (const Fault& fault :
         {Fault{Kind::kRefuse, 0, 2}, Fault{Kind::kCutRequest, 700, 2}, Fault{Kind::kCutAnswer, 0, 2},
          Fault{Kind::kCutAnswer, 20, 2}, Fault{Kind::kAnswer503, 0, 2}, Fault{Kind::kCorruptAnswer, 3, 2}}) {
      const std::string text = pattern(size, ++seed);
      proxy_.arm(fault);
      const auto digest = putBlob(store(), "a", asBytes(text));
      EXPECT_GE(proxy_.struck(), 1) << static_cast<int>(fault.kind);
      proxy_.arm({});
      ASSERT_TRUE(digest) << static_cast<int>(fault.kind) << ": " << digest.error().message;
      EXPECT_EQ(get(*digest).value(), text) << static_cast<int>(fault.kind);
    }
}

TEST_P(S3Store, AnUploadInPartsSurvivesFaults) {
  unsigned seed = 200;
  for (const Fault& fault : {Fault{Kind::kRefuse, 0, 2}, Fault{Kind::kCutRequest, 3 << 20, 2},
                             Fault{Kind::kCutAnswer, 0, 2}, Fault{Kind::kAnswer503, 0, 2}}) {
    const std::string text = pattern((11 << 20) + 1, ++seed);
    proxy_.arm(fault);
    const auto digest = putBlob(store(), "a", asBytes(text));
    EXPECT_GE(proxy_.struck(), 1) << static_cast<int>(fault.kind);
    proxy_.arm({});
    ASSERT_TRUE(digest) << static_cast<int>(fault.kind) << ": " << digest.error().message;
    EXPECT_EQ(get(*digest).value(), text) << static_cast<int>(fault.kind);
  }
}

// The server keeps silent about every part; only later is it heard again.
TEST_P(S3Store, APartDoesNotWaitForTheOneBefore) {
  harness_.options().client.timeouts.stall = std::chrono::seconds(10);
  harness_.options().client.retry.attempts = 2;
  harness_.reopen();
  const std::string text = pattern((15 << 20) + 5, 300);
  const Digest digest = digestOf(text);
  const auto writer = store().beginWrite("a", digest).value();
  constexpr std::size_t kTwoParts = (10 << 20) + 1;
  ASSERT_TRUE(writer->write(asBytes(text).first(1)));
  ASSERT_TRUE(writer->write(asBytes(text).subspan(1, (5 << 20))));  // the upload is known to the server
  proxy_.arm({Kind::kStallAnswer, 0, 1000});
  const Status second = writer->write(asBytes(text).subspan((5 << 20) + 1, kTwoParts - (5 << 20)));
  ASSERT_TRUE(second) << second.error().message;
  proxy_.arm({});
  ASSERT_TRUE(writer->write(asBytes(text).subspan(kTwoParts + 1)));
  const Status done = writer->commit();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(get(digest).value(), text);
}

TEST_P(S3Store, AGetSurvivesFaults) {
  const std::string text = pattern(3 << 20, 7);
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  for (const Fault& fault : {Fault{Kind::kRefuse, 0, 2}, Fault{Kind::kCutRequest, 20, 2},
                             Fault{Kind::kCutAnswer, 10, 2}, Fault{Kind::kCutAnswer, 1 << 20, 2},
                             Fault{Kind::kCutAnswer, 3 << 20, 2}, Fault{Kind::kAnswer503, 0, 2}}) {
    proxy_.arm(fault);
    const auto got = get(digest);
    EXPECT_GE(proxy_.struck(), 1) << static_cast<int>(fault.kind);
    ASSERT_TRUE(got) << static_cast<int>(fault.kind) << ": " << got.error().message;
    EXPECT_EQ(*got, text);
  }
}

// Damage on the way costs an error and no blob, and never gives wrong bytes out.
TEST_P(S3Store, BytesDamagedOnTheWayAreNoVerdictOnTheObject) {
  const std::string text = pattern(3 << 20, 8), small = pattern(5000, 9);
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  const Digest little = putBlob(store(), "a", asBytes(small)).value();
  proxy_.arm({Kind::kCorruptAnswer, 1 << 20, 1});
  const auto damaged = get(digest);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Code::kUnavailable) << damaged.error().message;
  EXPECT_EQ(get(digest).value(), text);
  // Of a blob that nobody has seen a byte of yet, the reader learns nothing.
  proxy_.arm({Kind::kCorruptAnswer, 3000, 1});
  EXPECT_EQ(get(little).value(), small);
  for (const Kind lie : {Kind::kLieLonger, Kind::kLieShorter}) {
    proxy_.arm({lie, 0, 1});
    const auto got = get(little);
    EXPECT_EQ(proxy_.struck(), 1);
    if (got)
      EXPECT_EQ(*got, small);
    else
      EXPECT_EQ(got.error().code, Code::kUnavailable) << got.error().message;
    EXPECT_EQ(get(little).value(), small) << "and it is there still";
  }
}

TEST_P(S3Store, AnUploadDamagedOnTheWayIsSentAgain) {
  if (GetParam() == "Moto") GTEST_SKIP() << "moto checks neither signatures nor checksums";
  const std::string text = pattern(100'000, 11);
  proxy_.arm({Kind::kCorruptRequest, 50'000, 1});
  const auto digest = putBlob(store(), "a", asBytes(text));
  EXPECT_EQ(proxy_.struck(), 1);
  ASSERT_TRUE(digest) << digest.error().message;
  EXPECT_EQ(get(*digest).value(), text);
}

TEST_P(S3Store, NothingHangsOnAServerThatStalls) {
  const std::string text = pattern(2 << 20, 12);
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  harness_.options().client.timeouts.stall = std::chrono::seconds(4);
  harness_.options().client.retry.attempts = 2;
  harness_.reopen();
  // Once: the rest comes by another connection.
  proxy_.arm({Kind::kStallAnswer, 1 << 20, 1});
  EXPECT_EQ(get(digest).value(), text);
  EXPECT_EQ(proxy_.struck(), 1);
  // Always: an error within attempts times (stall + 1 s that libcurl takes to look) and the pauses.
  proxy_.arm({Kind::kStallAnswer, 10, 1000});
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(get(digest).error().code, Code::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
}

TEST_P(S3Store, ASlowReaderIsNoStall) {
  const std::string text = pattern(2 << 20, 13);
  const Digest digest = putBlob(store(), "a", asBytes(text)).value();
  harness_.options().client.timeouts.stall = std::chrono::milliseconds(2500);
  harness_.options().client.retry.attempts = 1;
  harness_.reopen();
  std::string got;
  const Status status = store().read("a", digest, 0, 0, [&](Bytes bytes) -> Status {
    std::this_thread::sleep_for(std::chrono::milliseconds(3000));
    got.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  });
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(got, text);
}

TEST_P(S3Store, AServerThatIsAwayIsUnavailableAndComesBack) {
  const Digest digest = putBlob(store(), "a", asBytes("away")).value();
  proxy_.arm({Kind::kRefuse, 0, 1000});
  EXPECT_EQ(get(digest).error().code, Code::kUnavailable);
  EXPECT_EQ(putBlob(store(), "a", asBytes("new")).error().code, Code::kUnavailable);
  const std::string text = "batch";
  const storage::BlobBytes blob{digestOf(text), asBytes(text)};
  EXPECT_EQ(store().putBatch("a", std::span(&blob, 1)).front().error().code, Code::kUnavailable);
  proxy_.arm({});
  EXPECT_EQ(get(digest).value(), "away");
  EXPECT_TRUE(putBlob(store(), "a", asBytes("new")));
}

INSTANTIATE_TEST_SUITE_P(Servers, S3Store, ::testing::ValuesIn(testing_support::s3ServersAtHand()),
                         [](const auto& info) { return info.param; });

TEST(S3Servers, ThatOthersWroteAreAtHand) {
  if (testing_support::s3ServersAtHand().size() < 3)
    GTEST_SKIP() << "only the fake server was asked: KILN_MOTO_SERVER and KILN_VERSITYGW name no programs; "
                    "tests/interop/s3_check.py fetches them and runs this again";
}

}  // namespace
}  // namespace kiln::s3
