// A log whose files lie in a bucket: what is written is read, and who has been replaced changes nothing.
#include "signing/follow/bucket_tiles.h"

#include <gtest/gtest.h>

#include <array>

#include "signing/log/leaf.h"
#include "signing/sequencer/sequencer.h"
#include "storage/index/schema.h"
#include "tests/support/manual_clock.h"
#include "tests/support/postgres_server.h"
#include "tests/support/s3_server.h"

namespace kiln::signing {
namespace {

using testing_support::PostgresServer;

class BucketTilesTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<s3::Client> bucket() const {
    return std::make_shared<s3::Client>(testing_support::s3Server(GetParam()).options(prefix_));
  }
  std::unique_ptr<TileWriter> open() const { return BucketTiles::open(bucket()).value(); }
  bool knowsConditions() const { return GetParam() != "Versity"; }

 private:
  static inline int next_ = 0;
  const std::string prefix_ = "log" + std::to_string(next_++);
};

TEST_P(BucketTilesTest, KeepWhatTheyAreGiven) {
  const auto tiles = open();
  EXPECT_EQ(tiles->checkpoint().error().code, Code::kNotFound);
  EXPECT_FALSE(tiles->staged());
  const TilePath partial{0, 0, 3}, full{0, 0, kTileWidth};
  EXPECT_EQ(tiles->read(partial).error().code, Code::kNotFound);
  ASSERT_TRUE(tiles->write({{partial, std::string(96, 'p')}}));
  ASSERT_TRUE(tiles->write({{partial, std::string(96, 'p')}})) << "the same again";
  ASSERT_TRUE(tiles->stage("staged"));
  ASSERT_TRUE(tiles->publish("one"));
  ASSERT_TRUE(tiles->publish("two"));
  EXPECT_EQ(tiles->checkpoint().value(), "two");
  const auto next = open();
  EXPECT_EQ(next->checkpoint().value(), "two");
  EXPECT_EQ(next->staged(), "staged");
  EXPECT_GT(next->publishedAt(), TimePoint());
  EXPECT_EQ(next->read(partial).value(), std::string(96, 'p'));
  // Once the full one is there, the partial one is its beginning.
  std::string bytes(96, 'p');
  bytes.resize(kTileWidth * 32, 'q');
  ASSERT_TRUE(tiles->write({{full, bytes}}));
  tiles->prune({{full, bytes}});
  EXPECT_FALSE(bucket()->head(partial.text()));
  EXPECT_EQ(next->read(partial).value(), std::string(96, 'p'));
  EXPECT_EQ(next->read(TilePath{0, 0, 4}).value(), std::string(96, 'p') + std::string(32, 'q'));
}

TEST_P(BucketTilesTest, ATileIsNeverAnother) {
  if (!knowsConditions()) GTEST_SKIP() << GetParam() << " knows no conditions";
  const auto tiles = open();
  ASSERT_TRUE(tiles->write({{TilePath{0, 0, 1}, std::string(32, 'a')}}));
  const Status other = tiles->write({{TilePath{0, 0, 1}, std::string(32, 'b')}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kDataLoss);
  EXPECT_EQ(tiles->read(TilePath{0, 0, 1}).value(), std::string(32, 'a'));
}

TEST_P(BucketTilesTest, WhoWasReplacedPublishesNothing) {
  if (!knowsConditions()) GTEST_SKIP() << GetParam() << " knows no conditions";
  const auto first = open();
  ASSERT_TRUE(first->publish("one"));
  const auto second = open();
  ASSERT_TRUE(second->publish("two"));
  ASSERT_TRUE(second->stage("three"));
  EXPECT_EQ(first->publish("late").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(first->stage("late").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(open()->checkpoint().value(), "two");
  EXPECT_EQ(open()->staged(), "three");
}

INSTANTIATE_TEST_SUITE_P(Servers, BucketTilesTest, ::testing::ValuesIn(testing_support::s3ServersAtHand()),
                         [](const auto& info) { return info.param; });

// A sequencer and the one that stands by.
class BucketSequencer : public ::testing::Test {
 protected:
  BucketSequencer() {
    EXPECT_TRUE(postgres::migrate(connection_, index::migrations()));
    settings_.database = {.conninfo = conninfo_};
    settings_.origin = "log.bucket.example";
  }
  void sign(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string payload = std::to_string(signed_++);
      const Leaf leaf{logDigest("test", payload), "a signature", signer_.publicKey().der()};
      ASSERT_TRUE(index::addSignature(
          connection_, {"default", Digest{leaf.digest, 0}, payload, leaf.text(), clock_.now()}));
    }
  }
  std::shared_ptr<s3::Client> bucket() const {
    return std::make_shared<s3::Client>(testing_support::s3Server("Fake").options("sequenced"));
  }
  // As another process would: with the lock, if it can be had.
  Result<std::unique_ptr<Sequencer>> start(TileWriter& tiles, const SequencerSettings& settings) {
    return Sequencer::open(settings, key_, tiles, clock_);
  }
  // The database no longer hears of whoever holds the log's lock.
  void disconnectSequencer() {
    ASSERT_TRUE(
        connection_.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = "
                            "'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = "
                            "current_database()) AND pid <> pg_backend_pid()"));
  }
  Checkpoint published() {
    const VerifierKey log{settings_.origin, NoteKeyKind::kEd25519, key_.publicKey()};
    return openCheckpoint(parseNote(BucketTiles::open(bucket()).value()->checkpoint().value()).value(), log)
        .value();
  }

  const std::string conninfo_ = PostgresServer::shared().createDatabase();
  postgres::Connection connection_ = postgres::Connection::open({.conninfo = conninfo_}).value();
  testing_support::ManualClock clock_;
  const PrivateKey signer_ = PrivateKey::create().value();
  const Ed25519PrivateKey key_ = Ed25519PrivateKey::create().value();
  SequencerSettings settings_;
  int signed_ = 0;
};

TEST_F(BucketSequencer, TheOneThatStandsByTakesOverAndTheOtherEnds) {
  const auto firstTiles = BucketTiles::open(bucket()).value();
  const auto secondTiles = BucketTiles::open(bucket()).value();
  bool stopped = false;
  // Stopped between the database and the bucket, while the other takes over and goes on.
  settings_.reached = [&](std::string_view point) {
    if (point != kPointCommitted || stopped) return;
    stopped = true;
    disconnectSequencer();
    SequencerSettings settings = settings_;
    settings.reached = [](std::string_view) {};
    const auto second = start(*secondTiles, settings);
    ASSERT_TRUE(second) << second.error().message;
    sign(5);
    EXPECT_EQ((*second)->append().value(), 5u);
  };
  sign(300);
  const auto first = start(*firstTiles, settings_);
  ASSERT_TRUE(first) << first.error().message;
  const auto refused = start(*secondTiles, settings_);
  ASSERT_FALSE(refused) << "the lock is held";
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  const auto late = (*first)->append();
  ASSERT_FALSE(late) << "it has been replaced";
  EXPECT_EQ(late.error().code, Code::kFailedPrecondition) << late.error().message;
  EXPECT_EQ(published().size, 305u);

  const auto third = BucketTiles::open(bucket()).value();
  TileTree tree(*third, 305);
  EXPECT_EQ(treeRoot(tree, 305).value(), published().root);
  EXPECT_EQ(readEntries(*third, 305, 0, 305)->size(), 305u);
}

}  // namespace
}  // namespace kiln::signing
