// Bytes past the coordinator, and what becomes of them when the store is away, slow, damaged or lies.
#include "storage/direct/direct_blob_store.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <iostream>
#include <optional>

#include "storage/direct/transfer_service.h"
#include "storage/remote/byte_stream_service.h"
#include "storage/remote/cas_service.h"
#include "storage/remote/remote_blob_store.h"
#include "tests/storage/s3/s3_harness.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/local_store_harness.h"
#include "tests/support/manual_clock.h"

namespace kiln::storage {
namespace {

using testing_support::Fault;
using Kind = Fault::Kind;

// Counts what a coordinator passes on.
class CountingStore final : public BlobStore {
 public:
  explicit CountingStore(BlobStore& base) : base_(base) {}
  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override {
    written += digest.size;
    return base_.beginWrite(instance, digest);
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override {
    return base_.read(instance, digest, offset, length, [&](Bytes bytes) {
      bytesRead += bytes.size();
      return sink(bytes);
    });
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    return base_.findMissing(instance, digests);
  }
  std::atomic<std::uint64_t> written = 0, bytesRead = 0;

 private:
  BlobStore& base_;
};

// A coordinator of a farm whose store is at hand by a proxy, for callers alone.
class Farm {
 public:
  Farm(BlobStore& store, DirectTransfers* transfers) : counted(store), cas_(counted), streams_(counted) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
    builder.RegisterService(&cas_);
    builder.RegisterService(&streams_);
    if (transfers) builder.RegisterService(&transfers_.emplace(*transfers));
    server_ = builder.BuildAndStart();
  }
  ~Farm() { server_->Shutdown(std::chrono::system_clock::now()); }
  std::shared_ptr<Endpoints> endpoints() const {
    return std::make_shared<Endpoints>(grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
  }
  CountingStore counted;

 private:
  std::string address() const { return "unix:" + directory_.path() + "/farm.sock"; }
  testing_support::TempDirectory directory_;
  CasService cas_;
  ByteStreamService streams_;
  std::optional<TransferService> transfers_;
  std::unique_ptr<grpc::Server> server_;
};

std::string pattern(std::size_t size, unsigned seed) {
  std::string text(size, '\0');
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (char& c : text)
    c = static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  return text;
}

// Names the store by the way of a proxy: what the coordinator itself asks does not pass there.
class Proxied final : public DirectTransfers {
 public:
  Proxied(DirectTransfers& base, int from, int to)
      : base_(base), from_(":" + std::to_string(from) + "/"), to_(":" + std::to_string(to) + "/") {}
  Result<BlobRoute> locate(const std::string& instance, const Digest& digest) override {
    return turned(base_.locate(instance, digest));
  }
  Result<BlobRoute> beginUpload(const std::string& instance, const Digest& digest) override {
    return turned(base_.beginUpload(instance, digest));
  }
  Status finishUpload(const std::string& instance, const Digest& digest, const std::string& upload) override {
    return base_.finishUpload(instance, digest, upload);
  }

 private:
  Result<BlobRoute> turned(Result<BlobRoute> route) const {
    if (route) route->url.replace(route->url.find(from_), from_.size(), to_);
    return route;
  }
  DirectTransfers& base_;
  const std::string from_, to_;
};

class Direct : public ::testing::Test {
 protected:
  Direct() {
    options_.clock = &clock_;
    options_.timeouts.stall = std::chrono::seconds(4);
    options_.retry.firstPause = std::chrono::milliseconds(10);
    options_.retry.giveUpAfter = std::chrono::minutes(5);
    client_ = std::make_unique<DirectBlobStore>(farm_.endpoints(), remote_, options_);
  }
  std::uint64_t passed() const { return farm_.counted.written + farm_.counted.bytesRead; }
  Result<std::string> get(const Digest& digest) { return getBlob(*client_, "a", digest, 1ull << 30); }

  s3::testing::S3Harness bucket_{"Fake"};
  const int port_ = testing_support::s3Server("Fake").port();
  testing_support::FaultProxy proxy_{port_};
  Proxied proxied_{bucket_.store(), port_, proxy_.port()};
  Farm farm_{bucket_.store(), &proxied_};
  RemoteBlobStore remote_{farm_.endpoints()};
  testing_support::ManualClock clock_;
  DirectBlobStoreOptions options_;
  std::unique_ptr<DirectBlobStore> client_;
};

// A typical artifact: two large files and some small ones.
TEST_F(Direct, TheCoordinatorIsNotOnTheWay) {
  std::uint64_t total = 0;
  std::vector<Digest> digests;
  unsigned seed = 0;
  for (const std::size_t size : {5u << 20, 2u << 20, 40'000u, 3'000u, 900u}) {
    const std::string text = pattern(size, ++seed);
    digests.push_back(putBlob(*client_, "a", asBytes(text)).value());
    EXPECT_EQ(get(digests.back()).value(), text);
    total += 2 * size;
  }
  const double share = static_cast<double>(passed()) / static_cast<double>(total);
  RecordProperty("coordinator_bytes_per_blob_byte", std::to_string(share));
  std::cout << "bytes through the coordinator: " << passed() << " of " << total << " (" << share << ")\n";
  EXPECT_LE(share, 0.05);
  for (const Digest& digest : digests) EXPECT_TRUE(hasBlob(*client_, "a", digest).value());
}

TEST_F(Direct, OfABatchTheLargeBlobsGoPastTheCoordinator) {
  const std::string large = pattern(2 << 20, 1), small = pattern(3000, 2);
  for (const std::string& text : {large, small}) ASSERT_TRUE(putBlob(bucket_.store(), "a", asBytes(text)));
  const std::vector<Digest> asked{digestOf(large), digestOf("nowhere"), digestOf(small)};
  const auto blobs = client_->getBatch("a", asked);
  EXPECT_EQ(blobs[0].value(), large);
  EXPECT_EQ(blobs[1].error().code, Code::kNotFound);
  EXPECT_EQ(blobs[2].value(), small);
  EXPECT_EQ(passed(), small.size());
}

TEST_F(Direct, AStoreThatIsAwayIsGoneRoundAndLeftAlone) {
  proxy_.arm({Kind::kRefuse, 0, 1000});
  const std::string text = pattern(200'000, 20);
  const Digest digest = putBlob(*client_, "a", asBytes(text)).value();
  EXPECT_EQ(farm_.counted.written, text.size());
  EXPECT_GE(proxy_.struck(), 1);
  EXPECT_EQ(get(digest).value(), text);
  const int tried = proxy_.struck();
  EXPECT_EQ(get(digest).value(), text);
  EXPECT_TRUE(putBlob(*client_, "a", asBytes(pattern(200'000, 21))));
  EXPECT_EQ(proxy_.struck(), tried) << "not again within a minute";
  proxy_.arm({});
  clock_.advance(options_.restAfterFailure + std::chrono::seconds(1));
  const std::uint64_t before = farm_.counted.bytesRead;
  EXPECT_EQ(get(digest).value(), text);
  EXPECT_EQ(farm_.counted.bytesRead, before) << "and then it is tried again";
}

TEST_F(Direct, AStoreThatStaysAwayIsLeftAloneForLonger) {
  const std::string text = pattern(200'000, 22);
  const Digest digest = putBlob(bucket_.store(), "a", asBytes(text)).value();
  proxy_.arm({Kind::kRefuse, 0, 1000});
  const auto isTried = [&] {
    const int before = proxy_.struck();
    EXPECT_EQ(get(digest).value(), text);
    return proxy_.struck() > before;
  };
  const auto soon = options_.restAfterFailure + std::chrono::seconds(1);
  EXPECT_TRUE(isTried());
  clock_.advance(soon);
  EXPECT_TRUE(isTried());
  clock_.advance(soon);
  EXPECT_FALSE(isTried());
  clock_.advance(soon);
  EXPECT_TRUE(isTried());
  clock_.advance(std::chrono::minutes(11));
  proxy_.arm({});
  EXPECT_EQ(get(digest).value(), text);
  proxy_.arm({Kind::kRefuse, 0, 1000});
  EXPECT_TRUE(isTried());
  clock_.advance(soon);
  EXPECT_TRUE(isTried()) << "once it has answered, it is as if nothing had been";
}

TEST_F(Direct, WhateverHappensOnTheWayTheBytesAreRight) {
  unsigned seed = 30;
  for (const Fault& fault :
       {Fault{Kind::kCutAnswer, 100'000, 1}, Fault{Kind::kCutAnswer, 100'000, 9},
        Fault{Kind::kCutAnswer, 3 << 20, 9}, Fault{Kind::kStallAnswer, 2 << 20, 9},
        Fault{Kind::kAnswer503, 0, 1}, Fault{Kind::kAnswer503, 0, 9}, Fault{Kind::kCorruptAnswer, 500'000, 1},
        Fault{Kind::kLieShorter, 0, 9}, Fault{Kind::kLieLonger, 0, 9}}) {
    ++seed;
    const std::string text = pattern((4 << 20) + seed, seed);
    const Digest digest = putBlob(bucket_.store(), "a", asBytes(text)).value();
    clock_.advance(std::chrono::hours(1));
    proxy_.arm(fault);
    const auto got = get(digest);
    EXPECT_GE(proxy_.struck(), 1) << static_cast<int>(fault.kind);
    proxy_.arm({});
    if (fault.kind == Kind::kCorruptAnswer) {
      ASSERT_FALSE(got) << "some of it had been passed on";
      EXPECT_EQ(got.error().code, Code::kDataLoss) << got.error().message;
      EXPECT_EQ(get(digest).value(), text) << "through the coordinator";
      continue;
    }
    ASSERT_TRUE(got) << static_cast<int>(fault.kind) << ": " << got.error().message;
    EXPECT_EQ(*got, text) << static_cast<int>(fault.kind);
  }
}

TEST_F(Direct, DamageBeforeAnythingWasPassedOnIsNotSeen) {
  const std::string text = pattern(300'000, 50);
  const Digest digest = putBlob(bucket_.store(), "a", asBytes(text)).value();
  proxy_.arm({Kind::kCorruptAnswer, 100'000, 1});
  EXPECT_EQ(get(digest).value(), text);
  EXPECT_EQ(proxy_.struck(), 1);
  EXPECT_EQ(farm_.counted.bytesRead, text.size());
}

TEST_F(Direct, UploadsSurviveFaultsAndNothingWrongIsStored) {
  unsigned seed = 60;
  for (const Fault& fault : {Fault{Kind::kCutRequest, 200'000, 1}, Fault{Kind::kCutRequest, 200'000, 9},
                             Fault{Kind::kCutAnswer, 0, 1}, Fault{Kind::kAnswer503, 0, 1},
                             Fault{Kind::kAnswer503, 0, 9}, Fault{Kind::kCorruptRequest, 300'000, 9}}) {
    ++seed;
    const std::string text = pattern((2 << 20) + seed, seed);
    clock_.advance(std::chrono::hours(1));
    proxy_.arm(fault);
    const auto digest = putBlob(*client_, "a", asBytes(text));
    EXPECT_GE(proxy_.struck(), 1) << static_cast<int>(fault.kind);
    proxy_.arm({});
    ASSERT_TRUE(digest) << static_cast<int>(fault.kind) << ": " << digest.error().message;
    EXPECT_EQ(getBlob(bucket_.store(), "a", *digest, 1 << 30).value(), text);
  }
}

TEST_F(Direct, WrongBytesAreTheCallersFault) {
  const std::string text = pattern(200'000, 70);
  const Digest other{digestOf("other").hash, text.size()};
  EXPECT_EQ(putBlob(*client_, "a", other, asBytes(text)).error().code, Code::kInvalidArgument);
  EXPECT_EQ(getBlob(*client_, "b", other, 1 << 30).error().code, Code::kNotFound);
}

// A corrupt object is judged by the coordinator, which the reader then asks.
TEST_F(Direct, ACorruptObjectIsMissingInTheEnd) {
  const std::string text = pattern(200'000, 80);
  const Digest digest = putBlob(*client_, "a", asBytes(text)).value();
  bucket_.corrupt(digest);
  EXPECT_EQ(get(digest).error().code, Code::kDataLoss);
  EXPECT_FALSE(hasBlob(*client_, "a", digest).value());
}

TEST(DirectBlobStore, AFarmWithoutSuchAWayIsServedAllTheSame) {
  LocalStoreHarness local;
  Farm farm(local.store(), nullptr);
  RemoteBlobStore remote(farm.endpoints());
  DirectBlobStore client(farm.endpoints(), remote);
  const std::string text = pattern(200'000, 90);
  const Digest digest = putBlob(client, "a", asBytes(text)).value();
  EXPECT_EQ(getBlob(client, "a", digest, 1 << 30).value(), text);
  EXPECT_EQ(farm.counted.written, text.size());
}

class DirectHarness final : public BlobStoreHarness {
 public:
  BlobStore& store() override { return client_; }
  void corrupt(const Digest& digest) override { bucket_.corrupt(digest); }

 private:
  s3::testing::S3Harness bucket_{"Fake"};
  Farm farm_{bucket_.store(), &bucket_.store()};
  RemoteBlobStore remote_{farm_.endpoints()};
  DirectBlobStoreOptions options_{.smallest = 1};
  DirectBlobStore client_{farm_.endpoints(), remote_, options_};
};

INSTANTIATE_TEST_SUITE_P(Direct, BlobStoreContract,
                         testing::Values([] { return std::make_unique<DirectHarness>(); }));

}  // namespace
}  // namespace kiln::storage
