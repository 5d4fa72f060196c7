// What two coordinators or two sequencers do at the same moment, forced: a transaction of the test holds the
// lock and changes the rows; the call under test must wait for it and then go by what it finds.
#include <barrier>

#include "storage/index/artifacts/attestation_repository.h"
#include "storage/index/artifacts/verdict_repository.h"
#include "storage/index/log/log_repository.h"
#include "storage/index/toolchains/toolchain_repository.h"
#include "tests/storage/index/index_fixture.h"
#include "tests/support/open_transaction.h"

namespace kiln::index {
namespace {

using namespace testing;
using postgres::Connection;
using testing_support::OpenTransaction;

constexpr char kArtifact[] =
    "INSERT INTO artifacts (instance, hash, size, config_hash, config_size, target, toolchain_label, "
    "toolchain_hash, "
    "published) VALUES ('default', sha256('artifact'), 1, sha256('config'), 1, 'cpu:x86-64-v3', 'label', "
    "sha256('tree'), now());";

Digest hashOf(std::string_view text) {
  Digest digest = digestOf(text);
  digest.size = 0;
  return digest;
}

class LocksTest : public ::testing::Test {
 protected:
  LocksTest() : connection_(std::move(*Connection::open(options_))) {}

  void run(const std::string& sql) {
    Status status = connection_.executeScript(sql);
    ASSERT_TRUE(status) << status.error().message;
  }
  template <class F>
  auto start(F body) {
    return std::async(std::launch::async, [this, body] { return connection_.transact(body); });
  }
  BundleRecord bundle(const std::string& name) {
    return {hashOf(name), digestOf(name), "https://example.org/type", "job", kStart};
  }

  postgres::ConnectionOptions options_ = newIndex();
  Connection connection_;
};

TEST_F(LocksTest, AJobIsReadOnlyOnceAnotherIsDoneWithIt) {
  ASSERT_TRUE(connection_.transact([](Connection& c) { return insertJob(c, jobWithRuns("j", "a", 1)); }));
  OpenTransaction other(options_, "UPDATE jobs SET state = 6 WHERE id = 'j'");
  auto loaded =
      start([](Connection& c) { return loadJob(c, {"default", "j"}, Evidence::kWith, Lock::kUpdate); });
  EXPECT_TRUE(other.isAwaitedBy(loaded)) << "two drivers decide on one job at once";
  other.commit();
  auto job = loaded.get();
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(static_cast<int>((*job)->job.state), 6);
}

// What a watch goes by, at whatever coordinator.
TEST_F(LocksTest, TheLaterOfTwoChangesAtOnceIsARevisionOfItsOwn) {
  ASSERT_TRUE(connection_.transact([](Connection& c) { return insertJob(c, jobWithRuns("j", "a", 2)); }));
  const auto revision = [&] {
    return loadJob(connection_, {"default", "j"}, Evidence::kWith).value()->job.revision;
  };
  const std::uint64_t before = revision();
  OpenTransaction first(options_, "UPDATE runs SET stage = 'codegen' WHERE id = 'j-r0'");
  run("UPDATE runs SET stage = 'codegen' WHERE id = 'j-r1'");
  const std::uint64_t between = revision();
  EXPECT_GT(between, before);
  first.commit();
  EXPECT_GT(revision(), between) << "a watch that has shown the other change does not show this one";
}

TEST_F(LocksTest, AVerdictThatSomebodyElseGaveIsNotGivenAgain) {
  run(kArtifact);
  run("INSERT INTO instance_policies VALUES ('default', sha256('basis'));"
      "INSERT INTO verdicts_due (instance, artifact_hash, since) VALUES ('default', sha256('artifact'), "
      "now())");
  const auto due = listDue(connection_, 0, 10).value();
  ASSERT_EQ(due.size(), 1u);
  OpenTransaction other(options_, "DELETE FROM verdicts_due");
  auto given = start([&](Connection& c) {
    return insertVerdict(c, due[0], bundle("verdict"), {hashOf("verdict"), hashOf("facts"), true});
  });
  EXPECT_TRUE(other.isAwaitedBy(given));
  other.commit();
  auto isNew = given.get();
  ASSERT_TRUE(isNew) << isNew.error().message;
  EXPECT_FALSE(*isNew) << "judged although it is not due any more";
  EXPECT_FALSE(latestVerdict(connection_, "default", due[0].artifact).value());
}

TEST_F(LocksTest, ASequencerThatWasSupersededPlacesNothing) {
  const LogState log = openLog(connection_, "log", {0, LogHash{}, "note"}).value();
  ASSERT_TRUE(addSignature(connection_, {"default", digestOf(std::string_view("one that waits")), "payload",
                                         "leaf", TimePoint(std::chrono::seconds(1))}));
  OpenTransaction other(options_, "UPDATE log SET epoch = epoch + 1");
  auto placed = start([&](Connection& c) { return placeLeaves(c, log.epoch, 10); });
  EXPECT_TRUE(other.isAwaitedBy(placed)) << "placed beside a sequencer that opens the log";
  other.commit();
  auto leaves = placed.get();
  ASSERT_FALSE(leaves);
  EXPECT_EQ(leaves.error().code, Code::kFailedPrecondition) << leaves.error().message;
}

TEST_F(LocksTest, ASequencerThatWasSupersededCommitsNothing) {
  const LogState log = openLog(connection_, "log", {0, LogHash{}, "note"}).value();
  OpenTransaction other(options_, "UPDATE log SET epoch = epoch + 1");
  auto committed =
      start([&](Connection& c) { return commitCheckpoint(c, log.epoch, 0, {1, LogHash{}, "next"}, {{}}); });
  EXPECT_TRUE(other.isAwaitedBy(committed));
  other.commit();
  EXPECT_EQ(committed.get().error().code, Code::kFailedPrecondition);
}

TEST_F(LocksTest, AdmissionsOfOneLabelGoOneAfterTheOther) {
  ToolchainRecord record;
  record.instance = "default";
  record.label = "label";
  record.toolchainDigest = digestOf(std::string_view("tree"));
  record.description = "{}";
  record.added = kStart;
  ASSERT_TRUE(connection_.transact([&](Connection& c) { return addToolchain(c, record, false); }));
  OpenTransaction other(options_, "SELECT FROM toolchains WHERE label = 'label' FOR UPDATE");
  auto locked = start([](Connection& c) { return lockToolchain(c, "default", "label"); });
  EXPECT_TRUE(other.isAwaitedBy(locked));
  other.commit();
  EXPECT_TRUE(locked.get());
}

// The second of two at once finds the room taken.
TEST_F(LocksTest, ThirdPartiesStatementsKeepTheirLimitWhenAddedAtOnce) {
  run(kArtifact);
  const Digest artifact = digestOf(std::string_view("artifact"));
  const AttestationLimits limits{.perArtifact = 1, .perInstance = 1};
  Connection first = Connection::open(options_).value();
  ASSERT_TRUE(first.executeScript("BEGIN"));
  ASSERT_TRUE(insertAttestation(first, "default", artifact, bundle("one"), limits));
  OpenTransaction observer(options_, "SELECT 1");
  auto second =
      start([&](Connection& c) { return insertAttestation(c, "default", artifact, bundle("two"), limits); });
  EXPECT_TRUE(observer.isAwaitedBy(second));
  ASSERT_TRUE(first.executeScript("COMMIT"));
  Status status = second.get();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kResourceExhausted) << status.error().message;
}

TEST_F(LocksTest, AMigrationWaitsForAnother) {
  OpenTransaction other(
      options_, "SELECT pg_advisory_xact_lock(1802071150)");  // the key in storage/postgres/migrate.cc
  auto migrated =
      std::async(std::launch::async, [this] { return postgres::migrate(connection_, migrations()); });
  EXPECT_TRUE(other.isAwaitedBy(migrated)) << "two programs migrate one database at once";
  other.commit();
  EXPECT_TRUE(migrated.get());
}

// Signers beside several coordinators sign one statement for each of them.
TEST_F(LocksTest, ASignatureThatManyAddAtOnceIsAddedOnce) {
  constexpr int kSigners = 6, kSignatures = 200;
  std::barrier together(kSigners);
  const auto add = [&]() -> Status {
    auto connection = Connection::open(options_);
    if (!connection) {
      together.arrive_and_drop();
      return fail(connection.error());
    }
    Status failed;
    for (int i = 0; i < kSignatures; ++i) {
      const std::string payload = "payload " + std::to_string(i);
      together.arrive_and_wait();
      const auto row = addSignature(*connection, {"default", hashOf(payload), payload, "leaf", kStart});
      if (!row && failed) failed = fail(row.error());
    }
    return failed;
  };
  std::vector<std::future<Status>> signers;
  for (int i = 0; i < kSigners; ++i) signers.push_back(std::async(std::launch::async, add));
  for (auto& signer : signers) {
    const Status added = signer.get();
    EXPECT_TRUE(added) << added.error().message;
  }
}

}  // namespace
}  // namespace kiln::index
