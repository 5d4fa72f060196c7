// The log's directory and its database are lost, brought back from backups and kiln-log is killed, in every
// order of up to four such events. As long as the directory or the database still holds what was published,
// the log goes on and contradicts nothing; a witness that has seen more than both of them is heeded.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "manifest/base/durable_file.h"
#include "signing/follow/tile_directory.h"
#include "signing/keys/files.h"
#include "signing/log/cosignature.h"
#include "signing/log/leaf.h"
#include "signing/sequencer/sequencer.h"
#include "signing/witness/witness_client.h"
#include "signing/witness/witness_server.h"
#include "storage/index/schema.h"
#include "tests/support/manual_clock.h"
#include "tests/support/postgres_server.h"

// Processes are killed here, machines are not: without the disk's waits this takes seconds.
extern "C" int fsync(int) {
  return 0;
}

namespace kiln::fault {
namespace {

using namespace signing;
using testing_support::PostgresServer;
namespace fs = std::filesystem;

struct Killed {};

// Sizes around the edges of the second level's tile: its widths are 1, 2 and 3.
constexpr int kTilesBackup = 300, kDumpBackup = 600, kNow = 800;
constexpr std::size_t kEvents = 4;
constexpr char kTables[][16] = {"log_checkpoints", "log", "signatures"};

class LogOrders : public ::testing::TestWithParam<bool> {
 protected:
  LogOrders() {
    EXPECT_TRUE(postgres::migrate(connection_, index::migrations()));
    settings_.database = {.conninfo = conninfo_};
    settings_.origin = "log.orders.example";
    if (GetParam()) startWitness();
    sign(kTilesBackup);
    EXPECT_TRUE(append());
    fs::copy(tiles_, directory_ / "tiles backup", fs::copy_options::recursive);
    sign(kDumpBackup - kTilesBackup - 100);
    EXPECT_TRUE(append());
    sign(100);
    EXPECT_TRUE(append());
    sign(1);  // signed at the time of the dump, not yet logged
    dump("backup");
    sign(kNow - kDumpBackup - 1);
    EXPECT_TRUE(append());
  }

  void startWitness() {
    const VerifierKey log{settings_.origin, NoteKeyKind::kEd25519, key_.publicKey()};
    const VerifierKey cosigner{"witness.example", NoteKeyKind::kCosignature, witnessKey_.publicKey()};
    witness_ = Witness::open(directory_ / "witness", cosigner.name, witnessKey_, {log}, clock_).value();
    server_ = WitnessServer::start("127.0.0.1", 0, *witness_).value();
    witnesses_ = {{cosigner, "http://127.0.0.1:" + std::to_string(server_->port())}};
    settings_.witness = [this](Note& checkpoint, std::uint64_t from, TileTree& tree) {
      return collectCosignatures(witnesses_, 1, checkpoint, from, tree);
    };
  }
  void run(const std::string& sql) { ASSERT_TRUE(connection_.executeScript(sql)) << sql; }
  // Copies the tables into the schema `name`, and back.
  void dump(const std::string& name) {
    std::string sql = "DROP SCHEMA IF EXISTS " + name + " CASCADE; CREATE SCHEMA " + name + ";";
    for (const char* table : kTables)
      sql += "CREATE TABLE " + name + "." + table + " AS TABLE public." + table + ";";
    run(sql);
  }
  void restore(const std::string& name) {
    std::string sql = "BEGIN; SET LOCAL session_replication_role = replica;";
    sql += "TRUNCATE public.log_checkpoints, public.log, public.signatures;";
    for (const char* table : kTables)
      sql += std::string("INSERT INTO public.") + table + " OVERRIDING SYSTEM VALUE TABLE " + name + "." +
             table + ";";
    run(sql + "COMMIT;");
  }
  void copyTiles(const std::string& from, const std::string& to) {
    fs::remove_all(to);
    if (fs::exists(from)) fs::copy(from, to, fs::copy_options::recursive);
  }
  void sign(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string payload = std::to_string(signed_++);
      const Leaf leaf{logDigest("test", payload), "a signature", signer_.publicKey().der()};
      ASSERT_TRUE(index::addSignature(
          connection_, {"default", Digest{leaf.digest, 0}, payload, leaf.text(), clock_.now()}));
    }
  }
  // The session before is gone once the server has noticed.
  Result<std::unique_ptr<Sequencer>> start(WritableTiles& tiles, const Ed25519PrivateKey& key) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      auto sequencer = Sequencer::open(settings_, key, tiles, clock_);
      if (sequencer || sequencer.error().message.find("another kiln-log") == std::string::npos ||
          std::chrono::steady_clock::now() > end)
        return sequencer;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // One start of kiln-log and one append, killed when it reaches `dieAt`.
  Status append(std::string_view dieAt = "") {
    settings_.reached = [dieAt](std::string_view point) {
      if (point == dieAt) throw Killed{};
    };
    try {
      KILN_ASSIGN(auto tiles, WritableTiles::open(tiles_));
      KILN_ASSIGN(const auto sequencer, start(tiles, key_));
      for (std::uint64_t more = 1; more > 0;) {
        KILN_ASSIGN(more, sequencer->append());
      }
    } catch (const Killed&) {
    }
    return {};
  }

  struct State {
    Checkpoint published;        // by the directory, staged or not
    std::uint64_t database = 0;  // leaves that have their places there
    std::uint64_t witnessed = 0;
  };
  Checkpoint opened(const Result<std::string>& note) const {
    const VerifierKey log{settings_.origin, NoteKeyKind::kEd25519, key_.publicKey()};
    return note ? openCheckpoint(parseNote(*note).value(), log).value()
                : Checkpoint{log.name, 0, emptyTreeHash()};
  }
  State look() {
    State out;
    out.published = opened(TileDirectory(tiles_).checkpoint());
    const Checkpoint staged = opened(readTextFile(tiles_ + "/checkpoint.staged", 1 << 16));
    if (staged.size > out.published.size) out.published = staged;
    out.database = connection_.execute("SELECT coalesce(max(log_index) + 1, 0) AS n FROM signatures")
                       ->first([](const postgres::Row& row) { return row.get<std::uint64_t>("n"); })
                       .value()
                       .value();
    if (witness_) out.witnessed = opened(witness_->last(settings_.origin)).size;
    return out;
  }
  // The log is whole: tiles, rows and checkpoint tell one history, of all that was signed, which begins with
  // what the directory had published before.
  void expectWhole(const State& before) {
    const Checkpoint now = opened(TileDirectory(tiles_).checkpoint());
    const auto stored = index::newestCheckpoint(connection_).value().value();
    ASSERT_EQ(stored.size, now.size);
    EXPECT_EQ(stored.root, now.root);
    EXPECT_GT(now.size, std::max({before.published.size, before.database, before.witnessed}));
    TileDirectory directory(tiles_);
    TileTree tree(directory, now.size);
    ASSERT_EQ(treeRoot(tree, now.size).value(), now.root);
    EXPECT_TRUE(verifyConsistency(before.published.size, now.size, before.published.root, now.root,
                                  consistencyProof(tree, before.published.size, now.size).value()));
    const auto entries = readEntries(directory, now.size, 0, now.size).value();
    EXPECT_EQ(index::readLeaves(connection_, 0, now.size).value(), entries);
    EXPECT_EQ(index::countPlaced(connection_, now.size).value(), 0u);
    EXPECT_EQ(connection_.execute("SELECT FROM signatures WHERE tree_size IS NULL")->affected(), 0);
    if (witness_) {
      EXPECT_EQ(opened(witness_->last(settings_.origin)).root, now.root);
    }
  }

  void apply(std::size_t event) {
    static constexpr std::string_view kPoints[] = {kPointPlaced, kPointTilesWritten, kPointStaged,
                                                   kPointCommitted, kPointVisible};
    if (event == 0) fs::remove_all(tiles_);
    if (event == 1) restore("backup");
    if (event == 2) copyTiles(directory_ / "tiles backup", tiles_);
    if (event == 3) {
      sign(2);
      (void)append(kPoints[kills_++ % std::size(kPoints)]);
    }
  }
  // All orders of up to `depth` further events after those in `order`.
  void explore(int depth, const std::string& order) {
    const std::string mark = "depth" + std::to_string(depth), kept = directory_ / mark;
    if (depth > 0) {
      dump(mark);
      copyTiles(tiles_, kept);
      if (witness_) copyTiles(directory_ / "witness", kept + " witness");
    }
    const auto back = [&] {
      restore(mark);
      copyTiles(kept, tiles_);
      for (const auto& file : fs::directory_iterator(kept + " witness", ignored_))
        if (file.path().filename() != "lock")
          fs::copy(file, directory_ / "witness", fs::copy_options::overwrite_existing);
    };
    SCOPED_TRACE("after" + order);
    const State before = look();
    sign(2);
    const Status status = append();
    if (before.witnessed > std::max(before.published.size, before.database)) {
      ++refused_;
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code, Code::kDataLoss) << status.error().message;
    } else {
      ++wentOn_;
      ASSERT_TRUE(status) << status.error().message;
      expectWhole(before);
    }
    for (std::size_t event = 0; depth > 0 && event < kEvents; ++event) {
      back();
      apply(event);
      explore(depth - 1, order + " " + kNames[event]);
      if (HasFatalFailure()) return;
    }
  }

  static constexpr const char* kNames[] = {"lose-tiles", "older-dump", "older-tiles", "kill"};
  const testing_support::TempDirectory directory_;
  const std::string tiles_ = directory_ / "tiles";
  const std::string conninfo_ = PostgresServer::shared().createDatabase();
  postgres::Connection connection_ = postgres::Connection::open({.conninfo = conninfo_}).value();
  testing_support::ManualClock clock_;
  const PrivateKey signer_ = PrivateKey::create().value();
  const Ed25519PrivateKey key_ = Ed25519PrivateKey::create().value(),
                          witnessKey_ = Ed25519PrivateKey::create().value();
  SequencerSettings settings_;
  std::unique_ptr<Witness> witness_;
  std::unique_ptr<WitnessServer> server_;
  std::vector<WitnessEndpoint> witnesses_;
  std::error_code ignored_;
  int signed_ = 0, kills_ = 0, refused_ = 0, wentOn_ = 0;
};

// With a witness of up to three, which is where each of its cases stands, for the sake of time.
TEST_P(LogOrders, OfUpToFourEventsEndInOneHistory) {
  explore(GetParam() ? 3 : 4, "");
  EXPECT_EQ(refused_ + wentOn_, GetParam() ? 1 + 4 + 16 + 64 : 1 + 4 + 16 + 64 + 256);
  EXPECT_EQ(refused_ > 0, GetParam());
  EXPECT_GT(wentOn_, 30);
}

// What a sequencer that runs looks at before it signs.
class SequencerGuards : public LogOrders {
 protected:
  void expectRefused(Code code, const std::string& why) {
    sign(2);
    const auto appended = sequencer_->append();
    ASSERT_FALSE(appended) << why;
    EXPECT_EQ(appended.error().code, code);
    EXPECT_NE(appended.error().message.find(why), std::string::npos) << appended.error().message;
    EXPECT_EQ(opened(tilesHeld_.checkpoint()).size, static_cast<std::uint64_t>(kNow))
        << "nothing was published";
  }
  WritableTiles tilesHeld_ = WritableTiles::open(tiles_).value();
  std::unique_ptr<Sequencer> sequencer_ = start(tilesHeld_, key_).value();
};

TEST_P(SequencerGuards, TilesThatChangedUnderItAreNotAppendedTo) {
  const std::string edge = directory_ / "tiles/tile/0/003.p/32";
  ASSERT_TRUE(fs::exists(edge));
  fs::permissions(edge, fs::perms(0600));
  std::ofstream(edge) << std::string(32 * 32, 'x');
  expectRefused(Code::kDataLoss, "no longer lead to the last checkpoint");
}

TEST_P(SequencerGuards, AGapBetweenPlacesIsNotFilled) {
  sign(1);
  run("SET session_replication_role = replica; UPDATE signatures SET log_index = " +
      std::to_string(kNow + 1) + " WHERE log_index IS NULL; SET session_replication_role = origin");
  expectRefused(Code::kDataLoss, "has a gap behind leaf " + std::to_string(kNow));
}

// Once a second, on a farm where nothing happens.
TEST_P(SequencerGuards, AnAppendOfNothingLocksNothing) {
  const auto touched = [&] {
    return connection_.execute("SELECT xmin::text || ' ' || xmax::text AS v FROM log")
        ->first([](const postgres::Row& row) { return row.get<std::string>("v"); })
        .value()
        .value();
  };
  const std::string before = touched();
  EXPECT_EQ(sequencer_->append().value(), 0u);
  EXPECT_EQ(touched(), before);
  sign(1);
  EXPECT_EQ(sequencer_->append().value(), 1u);
  EXPECT_NE(touched(), before);
}

TEST_P(SequencerGuards, ALaterEpochEndsIt) {
  run("UPDATE log SET epoch = epoch + 1");
  expectRefused(Code::kFailedPrecondition, "another sequencer has opened the log");
}

TEST_P(SequencerGuards, ThereIsOneAtATime) {
  const auto second = Sequencer::open(settings_, key_, tilesHeld_, clock_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kUnavailable);
}

// What a start does before anything is appended.
class SequencerStarts : public LogOrders {
 protected:
  std::uint64_t published() { return opened(TileDirectory(tiles_).checkpoint()).size; }
  void expectRefused(const std::string& why) {
    const Checkpoint before = look().published;
    const Status refused = append();
    ASSERT_FALSE(refused) << why;
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
    EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
    EXPECT_EQ(look().published, before);
  }
};

TEST_P(SequencerStarts, WhatWasCommittedBecomesVisibleWithoutAnythingNew) {
  sign(2);
  EXPECT_TRUE(append(kPointCommitted));
  EXPECT_EQ(published(), static_cast<std::uint64_t>(kNow));
  EXPECT_TRUE(append());
  EXPECT_EQ(published(), static_cast<std::uint64_t>(kNow + 2));
}

// Its tiles are the log's, and a witness may have seen it.
TEST_P(SequencerStarts, AStagedCheckpointStandsThoughTheDatabaseForgotIt) {
  sign(2);
  EXPECT_TRUE(append(kPointStaged));
  EXPECT_EQ(published(), static_cast<std::uint64_t>(kNow));
  restore("backup");
  const State before = look();
  EXPECT_EQ(before.published.size, static_cast<std::uint64_t>(kNow + 2));
  sign(2);
  ASSERT_TRUE(append());
  expectWhole(before);
}

TEST_P(SequencerStarts, AnEntryThatIsNotTheOneInTheTreeIsNotAdopted) {
  const std::string bundle = tiles_ + "/tile/entries/003.p/32", before = "\"content\":\"";
  std::string bytes = readTextFile(bundle, 1 << 20).value();
  bytes.at(bytes.find(before) + before.size()) = 'Z';  // of the first one's signature
  ASSERT_TRUE(replaceFile(bundle, bytes));
  restore("backup");
  expectRefused("entry 768 is damaged");
}

TEST_P(SequencerStarts, AnEntryThatIsNoLeafIsNotAdopted) {
  ASSERT_TRUE(
      index::addSignature(connection_, {"default", digestOf("no leaf"), "no leaf", "no leaf", clock_.now()}));
  ASSERT_TRUE(append());
  EXPECT_EQ(published(), static_cast<std::uint64_t>(kNow + 1));
  restore("backup");
  expectRefused("entry " + std::to_string(kNow) + " is damaged");
}

TEST_P(SequencerStarts, CheckpointsOfANamedEarlierKeyStayTheLogs) {
  const Ed25519PrivateKey next = Ed25519PrivateKey::create().value();
  auto tiles = WritableTiles::open(tiles_).value();
  const auto refused = start(tiles, next);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("not this log's"), std::string::npos) << refused.error().message;
  settings_.earlierKeys = {{settings_.origin, NoteKeyKind::kEd25519, key_.publicKey()}};
  const auto accepted = start(tiles, next);
  ASSERT_TRUE(accepted) << accepted.error().message;
  sign(2);
  EXPECT_EQ((*accepted)->append().value(), 2u);
  EXPECT_EQ((*accepted)->size(), static_cast<std::uint64_t>(kNow + 2));
}

// A log begins without its witnesses; where it goes on they are asked before anything is appended.
TEST_P(SequencerStarts, WitnessesAreAskedAboutWhatIsThere) {
  std::vector<std::uint64_t> asked;
  settings_.witness = [&](Note& note, std::uint64_t from, TileTree& tree) -> Status {
    EXPECT_EQ(Checkpoint::parse(note.text)->size, tree.size());
    asked.insert(asked.end(), {from, tree.size()});
    return {};
  };
  EXPECT_TRUE(append());
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{kNow, kNow}));
  asked.clear();
  sign(2);
  EXPECT_TRUE(append(kPointPlaced));
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{kNow, kNow}));
  asked.clear();
  EXPECT_TRUE(append());
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{kNow, kNow + 2})) << "the leaves that have their places";
  asked.clear();
  fs::remove_all(tiles_);
  run("TRUNCATE log_checkpoints, log, signatures");
  EXPECT_TRUE(append());
  EXPECT_TRUE(asked.empty()) << "about an empty log";
}

INSTANTIATE_TEST_SUITE_P(Sequencer, SequencerStarts, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Sequencer, SequencerGuards, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Witness, LogOrders, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "cosigns" : "none"; });

}  // namespace
}  // namespace kiln::fault
