// Several coordinators of one farm, played by CAS servers over one store.
#include "storage/remote/endpoints.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "storage/remote/remote_blob_store.h"
#include "tests/support/cas_server.h"
#include "tests/support/faulty_blob_store.h"
#include "tests/support/local_store_harness.h"

namespace kiln::storage {
namespace {

using testing_support::CasServer;
using testing_support::FaultyBlobStore;

TEST(SplitEndpoints, NamesEachOnce) {
  EXPECT_EQ(splitEndpoints("unix:/a").value(), (std::vector<std::string>{"unix:/a"}));
  EXPECT_EQ(splitEndpoints("a:1,b:2,unix:/c").value(), (std::vector<std::string>{"a:1", "b:2", "unix:/c"}));
  std::string many = "h:1";
  for (int i = 2; i <= 17; ++i) many += ",h:" + std::to_string(i);
  for (const std::string& bad : {std::string(), std::string(","), std::string("a:1,"),
                                 std::string("a:1,,b:2"), std::string("a:1,b:2,a:1"), many}) {
    const auto names = splitEndpoints(bad);
    ASSERT_FALSE(names) << bad;
    EXPECT_EQ(names.error().code, Code::kInvalidArgument) << bad;
  }
}

TEST(EndpointsTest, AListIsOfEndpointsEachOfWhichIsChecked) {
  EXPECT_TRUE(Endpoints::open("unix:/a,unix:/b", {}));
  for (const char* list : {"unix:/a,nonsense", "unix:/a,farm.example.org:7443", "unix:/a,unix:"})
    EXPECT_EQ(Endpoints::open(list, {}).error().code, Code::kInvalidArgument) << list;
  EXPECT_EQ((*Endpoints::open("unix:/a,unix:/b,unix:/c", {}))->names(), "unix:/a, unix:/b and unix:/c");
}

class SeveralTest : public testing::Test {
 protected:
  LocalStoreHarness local_;
  FaultyBlobStore faulty_{local_.store()};
  std::optional<CasServer> first_{faulty_};
  CasServer second_{local_.store()};
  std::shared_ptr<Endpoints> endpoints_ = *Endpoints::open(first_->address() + "," + second_.address(), {});
  RemoteBlobStore remote_{endpoints_};
  const std::string large_ = std::string(9'000'000, 'b');

  bool isFirst() { return endpoints_->current().name == endpoints_->all()[0].name; }
};

TEST_F(SeveralTest, WhoPausesConnectsMeanwhile) {
  const auto one = Endpoints::open(second_.address(), {}).value();
  const auto isReady = [&] { return one->current().channel->GetState(false) == GRPC_CHANNEL_READY; };
  for (int pauses = 0; pauses < 20 && !isReady(); ++pauses) one->pause(std::chrono::seconds(1));
  EXPECT_TRUE(isReady()) << "nobody has called yet";
}

TEST_F(SeveralTest, EachOfThemServesTheSame) {
  const Digest digest = putBlob(remote_, "a", asBytes("x")).value();
  first_->stop();
  EXPECT_EQ(getBlob(remote_, "a", digest, 10).value(), "x") << "at once, without a wait";
  EXPECT_FALSE(isFirst());
  EXPECT_TRUE(hasBlob(remote_, "a", digest).value());
  const BlobBytes more{digestOf("y"), asBytes("y")};
  EXPECT_TRUE(remote_.putBatch("a", {&more, 1})[0]);
  second_.stop();
  EXPECT_EQ(getBlob(remote_, "a", digest, 10).error().code, Code::kUnavailable);
}

TEST_F(SeveralTest, AReadGoesOnWhereItHadCome) {
  const Digest digest = putBlob(local_.store(), "a", asBytes(large_)).value();
  faulty_.breakReadsAfter(5'000'000);
  EXPECT_EQ(getBlob(remote_, "a", digest, 10'000'000).value(), large_);
  std::string range;
  const auto take = [&](Bytes bytes) -> Status {
    range.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  const auto again = *Endpoints::open(first_->address() + "," + second_.address(), {});
  ASSERT_TRUE(RemoteBlobStore(again).read("a", digest, 1'000, 6'000'000, take));
  EXPECT_EQ(range, large_.substr(1'000, 6'000'000)) << "neither a byte twice nor one left out";
}

// Its error is its own, whatever it says.
TEST_F(SeveralTest, AReceiverThatFailsIsNotReadToAgain) {
  const Digest digest = putBlob(local_.store(), "a", asBytes("abc")).value();
  int times = 0;
  const auto refuse = [&](Bytes) -> Status {
    ++times;
    return fail(Code::kUnavailable, "full");
  };
  EXPECT_EQ(remote_.read("a", digest, 0, 2, refuse).error().message, "full");
  EXPECT_EQ(times, 1);
  EXPECT_TRUE(isFirst());
}

TEST_F(SeveralTest, AnUploadThatBreaksOffIsBegunAgainAtTheNext) {
  faulty_.setUnavailable(true);
  int failures = 0;
  while (!putBlob(remote_, "a", asBytes(large_))) ASSERT_LT(++failures, 10);
  EXPECT_GE(failures, 1) << "whoever has the bytes comes again";
  EXPECT_TRUE(hasBlob(local_.store(), "a", digestOf(large_)).value());
}

TEST_F(SeveralTest, OneThatIsBackIsUsedAgain) {
  faulty_.setUnavailable(true);
  EXPECT_FALSE(hasBlob(remote_, "a", digestOf("x")).value()) << "the second says so";
  faulty_.setUnavailable(false);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!isFirst() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_TRUE(isFirst());
}

}  // namespace
}  // namespace kiln::storage
