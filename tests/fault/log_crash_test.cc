// kiln-log is killed at each point between two durable states, meets another sequencer, loses its tiles, gets
// an old database back. Whatever happens, no entry is lost, doubled or moved, and no two trees of the log
// contradict each other.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "manifest/base/exit_code.h"
#include "signing/follow/tile_directory.h"
#include "signing/keys/files.h"
#include "signing/log/leaf.h"
#include "signing/log/log_proof.h"
#include "signing/sequencer/log_server.h"
#include "signing/server/logged_records.h"
#include "signing/witness/witness_server.h"
#include "storage/index/schema.h"
#include "tests/support/child_process.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temp_directory.h"

namespace kiln::fault {
namespace {

using namespace signing;
using testing_support::ChildProcess;
using testing_support::PostgresServer;

template <class F>
bool eventually(F condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// A database with what a signer writes into it.
class Intake {
 public:
  Intake(std::string conninfo, const PrivateKey& key) : conninfo_(std::move(conninfo)), key_(key) {
    EXPECT_TRUE(postgres::migrate(*pool_.acquire().value(), index::migrations()));
  }
  // The bundle that a signer's client gets.
  std::string sign(const std::string& payload) {
    if (auto first = records_.find(payload).value()) return *first;
    return records_.add("default", signEnvelope(kInTotoPayload, payload, key_).value(), key_.publicKey(), "")
        .value();
  }
  void sign(int from, int to) {
    for (int i = from; i < to; ++i) sign("{\"n\":" + std::to_string(i) + "}");
  }
  std::int64_t count(const std::string& where) {
    return pool_.execute("SELECT count(*) AS n FROM signatures WHERE " + where)
        ->first([](const postgres::Row& row) { return row.get<std::int64_t>("n"); })
        .value()
        .value();
  }
  void run(const std::string& sql) { EXPECT_TRUE(pool_.acquire().value()->executeScript(sql)) << sql; }
  const std::string& conninfo() const { return conninfo_; }

  const std::string conninfo_;
  const PrivateKey& key_;
  SystemClock clock_;
  postgres::Pool pool_{{.conninfo = conninfo_}, 4};
  LoggedRecords records_{pool_, LegacyRecords(""), key_.publicKey(), clock_};
};

class LogTest : public testing::Test {
 protected:
  LogTest() {
    EXPECT_TRUE(makeLogKey("log.fault.example", directory_ / "log"));
    log_ = loadVerifierKey(directory_ / "log.vkey").value();
    live_ = std::make_unique<Intake>(PostgresServer::shared().createDatabase(), key_);
  }

  std::unique_ptr<ChildProcess> start(const Intake& intake, const std::string& tiles,
                                      std::string_view dieAt = "") {
    logFile_ = directory_ / ("log" + std::to_string(++started_) + ".txt");
    std::vector<std::string> arguments{dieAt.empty() ? KILN_BIN "/kiln-log" : KILN_BIN "/kiln-dying-log",
                                       "serve",
                                       "--key",
                                       directory_ / "log",
                                       "--database",
                                       intake.conninfo(),
                                       "--tiles",
                                       directory_ / tiles};
    arguments.insert(arguments.end(), witnessOptions_.begin(), witnessOptions_.end());
    return std::make_unique<ChildProcess>(arguments, logFile_,
                                          std::vector<std::string>{"KILN_DIE_AT=" + std::string(dieAt)});
  }
  std::string said() const { return readTextFile(logFile_, 1 << 20).value_or(""); }

  // Waits until `size` signatures are covered and visible, then stops it.
  void grow(Intake& intake, std::int64_t size, const std::string& tiles = "tiles") {
    auto process = start(intake, tiles);
    ASSERT_TRUE(eventually([&] {
      return intake.count("tree_size IS NOT NULL") == size &&
             visible(tiles).size == static_cast<std::uint64_t>(size);
    })) << said();
    process->signal(SIGTERM);
    EXPECT_EQ(process->wait(), 0);
  }
  Checkpoint visible(const std::string& tiles = "tiles") const {
    auto text = TileDirectory(directory_ / tiles).checkpoint();
    if (!text) return {log_->name, 0, emptyTreeHash()};
    return openCheckpoint(parseNote(*text).value(), *log_).value();
  }
  // Tiles, rows and checkpoint tell one history of exactly `size` different entries, which begins with
  // `earlier`.
  void expectWhole(Intake& intake, std::uint64_t size, const Checkpoint& earlier,
                   const std::string& tiles = "tiles") {
    const Checkpoint now = visible(tiles);
    ASSERT_EQ(now.size, size);
    EXPECT_EQ(intake.count("true"), static_cast<std::int64_t>(size));
    TileDirectory directory(directory_ / tiles);
    TileTree tree(directory, size);
    EXPECT_EQ(treeRoot(tree, size).value(), now.root);
    EXPECT_TRUE(verifyConsistency(earlier.size, size, earlier.root, now.root,
                                  consistencyProof(tree, earlier.size, size).value()));
    const auto entries = readEntries(directory, size, 0, size).value();
    EXPECT_EQ(std::set(entries.begin(), entries.end()).size(), size) << "an entry stands twice";
    auto connection = intake.pool_.acquire().value();
    EXPECT_EQ(index::readLeaves(*connection, 0, size).value(), entries);
    for (const std::string& entry : entries) {
      const Digest digest{Leaf::parse(entry)->digest, 0};
      auto row = index::findSignature(*connection, digest).value();
      ASSERT_TRUE(row && row->inclusion);
      const index::LogInclusion& at = *row->inclusion;
      EXPECT_TRUE(verifyInclusion(at.index, at.treeSize, leafHash(entry), at.proof, at.root));
      const Checkpoint covering = openCheckpoint(parseNote(at.checkpoint).value(), *log_).value();
      EXPECT_EQ(covering.root, at.root);
      EXPECT_TRUE(verifyConsistency(covering.size, size, covering.root, now.root,
                                    consistencyProof(tree, covering.size, size).value()));
    }
  }
  // The database as it is now, as a backup would bring it back.
  std::string backUp() {
    const std::string conninfo = live_->conninfo();
    live_.reset();  // a template has no sessions
    const std::string name = conninfo.substr(conninfo.rfind('=') + 1), copy = name + "_backup";
    auto connection = postgres::Connection::open({.conninfo = PostgresServer::shared().conninfo()}).value();
    EXPECT_TRUE(eventually([&] {
      return connection.executeScript("CREATE DATABASE " + copy + " TEMPLATE " + name).has_value();
    }));
    live_ = std::make_unique<Intake>(conninfo, key_);
    return PostgresServer::shared().conninfo() + " dbname=" + copy;
  }
  void expectRefused(const Intake& intake, const char* why, const std::string& tiles = "tiles") {
    auto process = start(intake, tiles);
    EXPECT_EQ(process->wait(), kExitVerification);
    EXPECT_NE(said().find(why), std::string::npos) << said();
  }

  testing_support::TempDirectory directory_;
  PrivateKey key_ = PrivateKey::create().value();
  std::optional<VerifierKey> log_;
  std::unique_ptr<Intake> live_;
  std::string logFile_;
  std::vector<std::string> witnessOptions_;
  int started_ = 0;
};

class LogCrash : public LogTest, public testing::WithParamInterface<std::string_view> {};

TEST_P(LogCrash, TheNextOneGoesOn) {
  live_->sign(0, 3);
  grow(*live_, 3);
  const Checkpoint before = visible();
  live_->sign(3, 300);  // through the edge of a tile
  auto dying = start(*live_, "tiles", GetParam());
  EXPECT_EQ(dying->wait(), 128 + SIGKILL) << said();
  const Checkpoint between = visible();
  live_->sign(300, 302);  // the next one meets more than its predecessor did
  grow(*live_, 302);
  expectWhole(*live_, 302, before);
  expectWhole(*live_, 302, between);
}

INSTANTIATE_TEST_SUITE_P(Points, LogCrash,
                         testing::Values(kPointPlaced, kPointTilesWritten, kPointStaged, kPointCommitted,
                                         kPointVisible),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::erase(name, '-');
                           return name;
                         });

using AttackCases = LogTest;

TEST_F(AttackCases, Case15TwoSequencersCannotBothAppend) {
  live_->sign(0, 2);
  auto first = start(*live_, "tiles");
  ASSERT_TRUE(eventually([&] { return visible().size == 2; })) << said();
  const std::string firstLog = logFile_;
  auto second = start(*live_, "other tiles");
  ASSERT_TRUE(eventually([&] {
    return said().find("another kiln-log sequences this log") != std::string::npos;
  })) << said();
  live_->sign(2, 4);
  ASSERT_TRUE(eventually([&] { return visible().size == 4; }));
  EXPECT_EQ(visible("other tiles").size, 0u);
  // The first is stopped and its session dies, as on a machine that hangs: the second takes over.
  first->signal(SIGSTOP);
  live_->run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kiln-log' "
      "AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)");
  live_->sign(4, 6);
  ASSERT_TRUE(eventually([&] { return visible("other tiles").size == 6; })) << said();
  // It wakes up, and finds that it is no longer the one.
  first->signal(SIGCONT);
  live_->sign(6, 7);
  ASSERT_TRUE(eventually([&] { return visible("other tiles").size == 7; })) << said();
  ASSERT_TRUE(eventually([&] {  // its epoch is over, or its session is and it waits like any second one
    return !first->running() ||
           readTextFile(firstLog, 1 << 20).value_or("").find("another kiln-log sequences") !=
               std::string::npos;
  }));
  expectWhole(*live_, 7, visible(), "other tiles");
  EXPECT_EQ(visible().size, 4u);
}

TEST_F(AttackCases, Case15ATruncatedOrRewrittenLogIsDetected) {
  live_->sign(0, 5);
  grow(*live_, 5);
  const std::string edge = directory_ / "tiles/tile/0/000.p/5";
  const std::string good = readTextFile(edge, 1 << 20).value();
  std::ofstream(edge) << std::string(good.size(), 'x');
  live_->sign(5, 6);
  expectRefused(*live_, "do not lead to the root");
  std::filesystem::remove(edge);
  expectRefused(*live_, "nothing is appended");
  std::ofstream(edge) << good;
  // A checkpoint of another history, even one that our key signed.
  const auto key = Ed25519PrivateKey::load(directory_ / "log.key").value();
  const std::string published = readTextFile(directory_ / "tiles/checkpoint", 1 << 16).value();
  std::ofstream(directory_ / "tiles/checkpoint")
      << signCheckpoint({log_->name, 5, leafHash("another tree")}, key)->toString();
  expectRefused(*live_, "do not lead to the root");
  std::ofstream(directory_ / "tiles/checkpoint")
      << signCheckpoint(visible("none"), Ed25519PrivateKey::create().value())->toString();
  expectRefused(*live_, "not this log's");
  EXPECT_EQ(live_->count("tree_size IS NULL"), 1);
  std::ofstream(directory_ / "tiles/checkpoint") << published;
  grow(*live_, 6);
  expectWhole(*live_, 6, {log_->name, 0, emptyTreeHash()});
}

TEST_F(LogTest, LostTilesAreWrittenAgainFromTheDatabase) {
  live_->sign(0, 300);
  grow(*live_, 300);
  const Checkpoint before = visible();
  std::filesystem::remove_all(directory_ / "tiles");
  live_->sign(300, 301);
  grow(*live_, 301);
  expectWhole(*live_, 301, before);
}

TEST_F(AttackCases, Case27ARestoredDatabaseDoesNotForkTheLog) {
  live_->sign(0, 3);
  grow(*live_, 3);
  live_->sign(3, 4);  // signed at the time of the backup, not yet logged
  const std::string backup = backUp();
  const std::string first = live_->sign("{\"n\":3}"), second = live_->sign("{\"n\":4}");
  grow(*live_, 5);
  const Checkpoint before = visible();

  Intake restored(backup, key_);
  EXPECT_EQ(restored.count("true"), 4);
  // Before the log is reconciled a signer may have signed again what the backup has forgotten.
  const std::string again = restored.sign("{\"n\":4}");
  EXPECT_NE(again, second);
  restored.sign("{\"n\":5}");
  grow(restored, 6);
  expectWhole(restored, 6, before);
  EXPECT_EQ(restored.sign("{\"n\":3}"), first) << "a repeat returns the first";
  EXPECT_EQ(restored.sign("{\"n\":4}"), second) << "as the log has it";
}

TEST_F(AttackCases, Case27TwoHistoriesAreNotMixed) {
  live_->sign(0, 3);
  grow(*live_, 3);
  std::filesystem::copy(directory_ / "tiles", directory_ / "old tiles",
                        std::filesystem::copy_options::recursive);
  const std::string backup = backUp();
  live_->sign(3, 5);
  grow(*live_, 5);
  // The database and the tiles both come back, and the log goes another way, which nobody can notice here;
  // but never onto the tiles that went further.
  Intake restored(backup, key_);
  restored.sign("{\"n\":\"other\"}");
  grow(restored, 4, "old tiles");
  expectRefused(restored, "two histories");
  expectRefused(*live_, "two histories", "old tiles");
  expectWhole(*live_, 5, {log_->name, 0, emptyTreeHash()});
}

class WitnessedLogTest : public LogTest {
 protected:
  WitnessedLogTest() {
    const VerifierKey verifier{"witness.example", NoteKeyKind::kCosignature, witnessKey_.publicKey()};
    EXPECT_TRUE(writeTextFile(directory_ / "witness.vkey", verifier.text() + "\n"));
    witness_ = Witness::open(directory_ / "witness", verifier.name, witnessKey_, {*log_}, clock_).value();
    listen();
    witnessOptions_ = {"--witness", directory_ / "witness.vkey=http://127.0.0.1:" + std::to_string(port_)};
  }
  void listen() {
    server_ = WitnessServer::start("127.0.0.1", port_, *witness_).value();
    port_ = server_->port();
  }

  SystemClock clock_;
  const Ed25519PrivateKey witnessKey_ = Ed25519PrivateKey::create().value();
  std::unique_ptr<Witness> witness_;
  std::unique_ptr<WitnessServer> server_;
  std::uint16_t port_ = 0;
};

// Of every program that takes one: it is no database that is away, which would be waited for.
TEST(DatabaseOption, AStringThatNamesNoServerEndsTheProgramWithTwo) {
  const testing_support::TempDirectory directory;
  const std::vector<std::vector<std::string>> programs{
      {KILN_BIN "/kiln-log", "serve", "--key", "k", "--tiles", "t"},
      {KILN_BIN "/kiln-signer", "serve", "--listen", "unix:/run/s", "--key", "k", "--store", "s",
       "--worker-ca", "c"},
      {KILN_BIN "/kiln-coordinator", "--listen", "unix:/run/c", "--signer", "unix:/run/s", "--store", "s",
       "--worker-ca", "c", "--log-key", "k", "--builder-id", "urn:b"}};
  for (std::vector<std::string> command : programs)
    for (const char* database :
         {"host=/run dbname", "hots=/run", "host=/run port=five", "host=/run sslmode=perhaps"}) {
      command.resize(command.size() - (command[command.size() - 2] == "--database" ? 2 : 0));
      command.insert(command.end(), {"--database", database});
      ChildProcess program(command, directory / "log");
      EXPECT_EQ(program.wait(), 2) << command[0] << " " << database;
      EXPECT_NE(signing::readTextFile(directory / "log", 1 << 16).value().find("--database: "),
                std::string::npos);
    }
}

TEST_F(WitnessedLogTest, NoCheckpointCountsWithoutTheQuorum) {
  live_->sign(0, 3);
  grow(*live_, 3);
  EXPECT_EQ(parseNote(TileDirectory(directory_ / "tiles").checkpoint().value())->signatures.size(), 2u);
  const Checkpoint before = visible();
  auto process = start(*live_, "tiles");
  ASSERT_TRUE(eventually([&] { return said().find("sequencing") != std::string::npos; })) << said();
  server_.reset();
  live_->sign(3, 5);
  ASSERT_TRUE(eventually([&] { return said().find("0 of 1 witnesses") != std::string::npos; })) << said();
  EXPECT_EQ(visible(), before);
  EXPECT_EQ(live_->count("tree_size IS NOT NULL"), 3);
  listen();
  ASSERT_TRUE(eventually([&] { return visible().size == 5; })) << said();
  process.reset();
  expectWhole(*live_, 5, before);
}

using WitnessedAttackCases = WitnessedLogTest;

TEST_F(WitnessedAttackCases, Case27ALogShorterThanItsWitnessSawIsRefused) {
  live_->sign(0, 3);
  grow(*live_, 3);
  std::filesystem::copy(directory_ / "tiles", directory_ / "old tiles",
                        std::filesystem::copy_options::recursive);
  const std::string backup = backUp();
  live_->sign(3, 5);
  grow(*live_, 5);
  Intake restored(backup, key_);
  restored.sign("{\"n\":\"other\"}");
  expectRefused(restored, "a larger log", "old tiles");
  EXPECT_EQ(restored.count("log_index IS NULL"), 1) << "nothing was appended";
  EXPECT_EQ(visible("old tiles").size, 3u);
}

}  // namespace
}  // namespace kiln::fault
