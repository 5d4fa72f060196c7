#include "coordinator/access/discovered_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/manual_clock.h"
#include "tests/support/token_factory.h"

namespace kiln::access {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing_support::TokenFactory;

constexpr char kIssuer[] = "https://ci.example.org";

// An issuer that can be changed, held up and taken away.
class PlayedIssuer {
 public:
  Result<std::string> get(const std::string& url, const std::stop_token& stop) {
    MutexLock lock(mutex_);
    if (url.ends_with("openid-configuration")) ++fetches_;
    while (held_ && !stop.stop_requested()) changed_.waitFor(mutex_, milliseconds(5));
    if (down_) return fail(Code::kUnavailable, "down");
    if (url.ends_with("openid-configuration"))
      return Json{{"issuer", url.substr(0, url.find("/.well"))}, {"jwks_uri", "https://ci.example.org/keys"}}
          .dump();
    return keys_;
  }
  void show(const TokenFactory& key) {
    const MutexLock lock(mutex_);
    keys_ = key.jwks();
  }
  void setDown(bool down) {
    const MutexLock lock(mutex_);
    down_ = down;
  }
  void setHeld(bool held) {
    const MutexLock lock(mutex_);
    held_ = held;
    changed_.notifyAll();
  }
  int fetches() {
    const MutexLock lock(mutex_);
    return fetches_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::string keys_ KILN_GUARDED_BY(mutex_);
  bool down_ KILN_GUARDED_BY(mutex_) = false, held_ KILN_GUARDED_BY(mutex_) = false;
  int fetches_ KILN_GUARDED_BY(mutex_) = 0;
};

class DiscoveredKeysTest : public ::testing::Test {
 protected:
  DiscoveredKeysTest() { played_.show(first_); }
  std::unique_ptr<DiscoveredKeys> start(const FollowTimes& times = {.wait = seconds(30)}) {
    auto keys = std::make_unique<DiscoveredKeys>(
        clock_,
        [this](const std::string& url, std::size_t, const std::string&, const std::stop_token& stop) {
          return played_.get(url, stop);
        },
        times);
    keys->follow(issuers_);
    return keys;
  }
  static std::string idOf(const KeySet& keys) { return keys ? keys->at(0).id : "none"; }
  void waitForFetches(int count) {
    while (played_.fetches() < count) std::this_thread::sleep_for(milliseconds(2));
  }

  testing_support::ManualClock clock_;
  TokenFactory first_{"ES256", "first"}, second_{"ES256", "second"};
  PlayedIssuer played_;
  std::vector<TokenIssuer> issuers_{{kIssuer, {"kiln"}, {}, Discovery{}}};
};

TEST_F(DiscoveredKeysTest, ARefreshBringsNewKeysAndDropsOldOnes) {
  const auto keys = start();
  EXPECT_EQ(idOf(keys->refreshed(kIssuer)), "first");
  played_.show(second_);
  EXPECT_EQ(idOf(keys->known(kIssuer)), "first");
  clock_.advance(seconds(10));
  EXPECT_EQ(idOf(keys->refreshed(kIssuer)), "second");
  EXPECT_EQ(keys->known(kIssuer)->size(), 1u);
  EXPECT_EQ(idOf(keys->known("https://other.example.org")), "none");
  EXPECT_EQ(idOf(keys->refreshed("https://other.example.org")), "none");
}

TEST_F(DiscoveredKeysTest, AFloodOfUnknownKeysBringsFewFetches) {
  const auto keys = start();
  EXPECT_EQ(idOf(keys->refreshed(kIssuer)), "first");
  const auto before = keys->states().at(0).heldBack;
  for (int i = 0; i < 1000; ++i) keys->refreshed(kIssuer);
  EXPECT_EQ(played_.fetches(), 1);
  clock_.advance(seconds(9));
  keys->refreshed(kIssuer);
  EXPECT_EQ(played_.fetches(), 1);
  clock_.advance(seconds(1));
  for (int i = 0; i < 1000; ++i) keys->refreshed(kIssuer);
  EXPECT_EQ(played_.fetches(), 2);
  EXPECT_EQ(keys->states().at(0).heldBack - before, 1000u + 1 + 999);
}

TEST_F(DiscoveredKeysTest, KeysAreFetchedAgainWithoutBeingAskedFor) {
  const auto keys = start({.refresh = milliseconds(0), .wait = seconds(30)});
  played_.show(second_);
  waitForFetches(played_.fetches() + 2);  // the second of them began after it was shown
  EXPECT_EQ(idOf(keys->known(kIssuer)), "second");
}

TEST_F(DiscoveredKeysTest, AnIssuerThatIsDownKeepsItsKeysForADay) {
  const auto keys = start();
  EXPECT_EQ(idOf(keys->refreshed(kIssuer)), "first");
  played_.setDown(true);
  clock_.advance(hours(24));
  EXPECT_EQ(idOf(keys->refreshed(kIssuer)), "first");
  EXPECT_EQ(keys->states().at(0).failed, 1u);
  clock_.advance(seconds(1));
  EXPECT_EQ(idOf(keys->known(kIssuer)), "none");
  played_.setDown(false);
  clock_.advance(minutes(1));
  EXPECT_EQ(idOf(keys->refreshed(kIssuer)), "first");
}

TEST_F(DiscoveredKeysTest, ASlowIssuerHoldsUpFewCallsAndNotForLong) {
  played_.setHeld(true);
  const auto keys = start({.wait = milliseconds(300), .waiting = 2});
  waitForFetches(1);
  std::atomic<int> ended = 0;
  std::vector<std::thread> calls;
  for (int i = 0; i < 20; ++i)
    calls.emplace_back([&] {
      EXPECT_EQ(idOf(keys->refreshed(kIssuer)), "none");
      ++ended;
    });
  for (std::thread& call : calls) call.join();
  EXPECT_EQ(ended, 20);
  EXPECT_GE(keys->states().at(0).heldBack, 1u) << "no more than two wait at a time";
  // Another issuer is served meanwhile: each has a thread.
  EXPECT_EQ(played_.fetches(), 1);
}

TEST_F(DiscoveredKeysTest, TheEndDoesNotWaitForAnIssuer) {
  played_.setHeld(true);
  auto keys = start({.wait = hours(1)});
  waitForFetches(1);
  keys.reset();  // would not come back
}

TEST_F(DiscoveredKeysTest, AnIssuerThatStaysKeepsItsKeys) {
  const auto keys = start();
  EXPECT_EQ(idOf(keys->refreshed(kIssuer)), "first");
  played_.setDown(true);
  issuers_.push_back({"https://other.example.org", {"kiln"}, {}, Discovery{}});
  issuers_.push_back({"https://file.example.org", {"kiln"}, {}});
  keys->follow(issuers_);
  EXPECT_EQ(idOf(keys->known(kIssuer)), "first");
  EXPECT_EQ(keys->states().size(), 2u) << "one with a file is not followed";
  issuers_[0].discovery->ca = "other.pem";
  keys->follow(issuers_);
  EXPECT_EQ(idOf(keys->known(kIssuer)), "none") << "fetched from others, it may be another's";
  keys->follow({});
  EXPECT_TRUE(keys->states().empty());
}

}  // namespace
}  // namespace kiln::access
