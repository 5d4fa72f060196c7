// The drill: build, recall, back up, destroy, restore elsewhere; then what was built is fetched and verified,
// what was recalled is refused, the log goes on, and the farm builds.
#include <filesystem>

#include "api/client/client.h"
#include "manifest/base/durable_file.h"
#include "signing/follow/tile_directory.h"
#include "signing/keys/files.h"
#include "signing/log/checkpoint.h"
#include "signing/recall/recalls.h"
#include "signing/trust/trust_root.h"
#include "storage/backup/document.h"
#include "tests/fault/farm_processes.h"
#include "tests/support/fake_worker.h"

namespace kiln::fault {
namespace {

using testing_support::FakeWorker;
using testing_support::PostgresServer;

class BackupDrill : public ::testing::Test {
 protected:
  // Exit code and output.
  std::pair<int, std::string> kiln(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), KILN_BIN "/kiln");
    ChildProcess process(arguments, place_ / "kiln.log");
    const int code = process.wait();
    std::ifstream log(place_ / "kiln.log");
    return {code, std::string((std::istreambuf_iterator<char>(log)), {})};
  }
  void expectOk(const std::vector<std::string>& arguments) {
    const auto [code, output] = kiln(arguments);
    EXPECT_EQ(code, 0) << output;
  }
  // The digest of what came out.
  std::string build(FarmProcesses& farm, const std::string& key, const std::string& model) {
    FakeWorker worker(farm.channel_, *farm.blobs_, farm.authority_, place_.path(), "w1-" + key, "op",
                      farm.clock_.now());
    EXPECT_TRUE(worker.synchronize({}));
    auto request = testing_support::sampleRequest(
        key, 1, storage::putBlob(*farm.blobs_, "default", asBytes(model)).value());
    v1::Job job;
    const grpc::Status status = farm.submit(request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(eventually([&] {
      (void)worker.work();
      job = farm.get(job.id());
      return job.state() == v1::JOB_SUCCEEDED || job.state() == v1::JOB_FAILED;
    }));
    EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message() << farm.log();
    epochs_.push_back(generation(farm));
    return job.artifacts_size() == 1 ? job.artifacts(0).digest() : "";
  }
  static int generation(FarmProcesses& farm) {
    auto connection = postgres::Connection::open({.conninfo = farm.database_});
    auto rows = connection->execute("SELECT generation::int AS n FROM farm");
    return **rows->first([](const postgres::Row& row) { return row.get<int>("n"); });
  }

  // The farm's own root, below its directory as infra/up has it, with the log and one recall key.
  void writeRoot(FarmProcesses& farm) {
    const signing::VerifierKey log = farm.logKey();
    root_ = signing::developmentRoot(farm.key_.publicKey(), "urn:kiln:builder:fault", farm.clock_.now());
    root_.logs = {{log.name, log.key.der(), root_.keys[0].validFrom, root_.expires}};
    root_.recallKeys = signing::RecallKeys{{1, {recallKey_.publicKey()}}, 1, 10};
    std::filesystem::create_directory(farm.directory_ / "trust");
    EXPECT_TRUE(signing::writeTextFile(farm.directory_ / "trust/root.json", root_.toJson().dump()));
  }
  static void start(FarmProcesses& farm) {
    farm.startCoordinator(
        "", 5,
        {"--log-tiles", farm.directory_ / "tiles", "--trust-root", farm.directory_ / "trust/root.json"});
  }
  void recall(FarmProcesses& farm, const std::string& artifact) {
    if (!std::filesystem::exists(place_ / "recall.key")) EXPECT_TRUE(recallKey_.save(place_ / "recall.key"));
    expectOk({"recall", "--artifact", artifact, "--reason", "wrong weights", "--endpoint", farm.endpoint(),
              "--trust-root", farm.directory_ / "trust/root.json", "--sign-with", place_ / "recall.key"});
  }
  signing::Recalls recalls(FarmProcesses& farm) {
    const auto client = client::Client::open({.endpoint = farm.endpoint()}).value();
    return signing::Recalls::parse(client->recalls().value(), root_).value();  // with proofs that hold
  }
  static signing::Checkpoint checkpoint(const FarmProcesses& farm) {
    const std::string text = signing::TileDirectory(farm.directory_ / "tiles").checkpoint().value();
    return signing::openCheckpoint(signing::parseNote(text).value(), farm.logKey()).value();
  }
  // The log of `farm` holds what it held at `earlier`, unchanged.
  static void expectContinues(const FarmProcesses& farm, const signing::Checkpoint& earlier) {
    const signing::Checkpoint now = checkpoint(farm);
    ASSERT_GE(now.size, earlier.size);
    signing::TileDirectory tiles(farm.directory_ / "tiles");
    signing::TileTree tree(tiles, now.size);
    EXPECT_EQ(signing::treeRoot(tree, earlier.size).value(), earlier.root) << "no fork";
  }

  // Makes `checkpoint` the one that a backup holds.
  static void putBy(const std::string& backup, const std::string& checkpoint) {
    const std::string document = backup + "/backup.json";
    auto held = storage::BackupDocument::parse(signing::readTextFile(document, 1 << 20).value()).value();
    for (storage::BackupFile& file : held.files)
      if (file.path == "log/checkpoint") file.digest = digestOf(checkpoint);
    for (const auto& [path, text] : {std::pair(backup + "/state/log/checkpoint", checkpoint),
                                     std::pair(document, toCanonicalJson(held.toJson()).value())})
      EXPECT_TRUE(replaceFile(path, text));
  }

  testing_support::TempDirectory place_;
  std::vector<int> epochs_;
  const signing::PrivateKey recallKey_ = signing::PrivateKey::create().value();
  signing::TrustRoot root_;
};

TEST_F(BackupDrill, ADestroyedFarmComesBackElsewhere) {
  auto before = std::make_unique<PostgresServer>();
  auto farm = std::make_unique<FarmProcesses>(*before);
  writeRoot(*farm);
  start(*farm);
  ASSERT_TRUE(farm->ready()) << farm->log();
  ASSERT_TRUE(farm->addToolchain());
  const std::string artifact = build(*farm, "first", "a model");
  ASSERT_NE(artifact, "");
  const std::string root = place_ / "root.json", policy = KILN_POLICIES "/development.json";
  std::filesystem::copy(farm->directory_ / "trust/root.json", root);

  // Not the database of nobody, and not that of another farm.
  const auto refused = [&](const std::string& database) {
    const auto [code, output] = kiln(
        {"backup", "--farm", farm->directory_.path(), "--database", database, "--out", place_ / "wrong"});
    EXPECT_EQ(code, 2) << output;
    EXPECT_FALSE(std::filesystem::exists(place_ / "wrong"));
  };
  refused(before->createDatabase());
  std::filesystem::create_directory(farm->directory_ / "log");
  signing::Checkpoint other = checkpoint(*farm);
  other.root[0] ^= 1;
  const auto published = [&](const std::string& text) {
    EXPECT_TRUE(replaceFile(farm->directory_ / "log/checkpoint", text));
  };
  published(signing::signCheckpoint(other, signing::Ed25519PrivateKey::create().value()).value().toString());
  refused(farm->database_);
  published(signing::TileDirectory(farm->directory_ / "tiles").checkpoint().value());

  // While it runs, and again: the second holds what came after the first.
  expectOk({"backup", "--farm", farm->directory_.path(), "--database", farm->database_, "--out",
            place_ / "early"});
  std::filesystem::remove_all(farm->directory_ / "log");
  const std::string later = build(*farm, "second", "another model");
  const std::string bad = build(*farm, "bad", "a bad model");
  recall(*farm, bad);
  const std::string inForce = recalls(*farm).text;
  const signing::Checkpoint seen = checkpoint(*farm);
  expectOk({"backup", "--farm", farm->directory_.path(), "--database", farm->database_, "--out",
            place_ / "backup", "--with-keys", "--json"});
  EXPECT_FALSE(std::filesystem::exists(place_ / "early/state/keys"));
  EXPECT_TRUE(std::filesystem::exists(place_ / "backup/state/keys/signer.pem"));

  PostgresServer after;
  FarmProcesses restored(after, *farm);

  // A backup of an earlier release, which took any database: nothing is made of it, whoever starts the farm.
  putBy(place_ / "early",
        signing::signCheckpoint(other, signing::Ed25519PrivateKey::create().value())->toString());
  const auto restore = [&](const std::string& from) {
    return kiln({"restore", "--from", place_ / from, "--farm", place_ / "elsewhere", "--database",
                 restored.database_});
  };
  const auto [wrong, why] = restore("early");
  EXPECT_EQ(wrong, 5) << why;
  EXPECT_NE(why.find("is not that of the farm whose log"), std::string::npos) << why;
  EXPECT_FALSE(std::filesystem::exists(place_ / "elsewhere"));
  farm.reset();
  before.reset();

  expectOk({"restore", "--from", place_ / "backup", "--farm", restored.directory_.path(), "--database",
            restored.database_});
  const auto [again, said] = restore("backup");
  EXPECT_EQ(again, 2) << "a database that is not empty: " << said;
  EXPECT_NE(said.find("needs an empty one"), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(place_ / "elsewhere"));

  restored.startSigner();
  restored.startLog();
  start(restored);
  ASSERT_TRUE(restored.ready()) << restored.log();
  for (const std::string& digest : {artifact, later}) {
    const std::string copy = place_ / ("copy-" + digest.substr(7, 8));
    expectOk({"fetch", digest, "--endpoint", restored.endpoint(), "--trust-root", root, "--policy", policy,
              "--out", copy});
    expectOk({"verify", copy, "--trust-root", root, "--policy", policy});
  }
  EXPECT_EQ(recalls(restored).text, inForce) << "with its proofs";
  EXPECT_EQ(kiln({"fetch", bad, "--endpoint", restored.endpoint(), "--trust-root", root, "--policy", policy,
                  "--out", place_ / "bad"})
                .first,
            5);
  expectContinues(restored, seen);
  const std::string third = build(restored, "third", "a third model");
  EXPECT_NE(third, "");
  recall(restored, third);
  EXPECT_EQ(recalls(restored).entries.size(), 2u);
  expectContinues(restored, seen);
  // What was built before is known: the same again is a hit, and makes the same artifact.
  EXPECT_EQ(build(restored, "first-again", "a model"), artifact);
  EXPECT_GT(epochs_.back(), epochs_.front()) << "no lease epoch is used twice";
}

// The database comes back older than the tiles, which lie elsewhere and survived: nothing of the log is lost
// or forked, and holders of recalls that the database has forgotten put them in force again.
TEST_F(BackupDrill, Case27AnOldBackupBesideNewerTilesGoesOnFromTheTiles) {
  auto before = std::make_unique<PostgresServer>();
  auto farm = std::make_unique<FarmProcesses>(*before);
  writeRoot(*farm);
  start(*farm);
  ASSERT_TRUE(farm->ready()) << farm->log();
  ASSERT_TRUE(farm->addToolchain());
  const std::string first = build(*farm, "first", "a model");
  expectOk({"backup", "--farm", farm->directory_.path(), "--database", farm->database_, "--out",
            place_ / "early", "--with-keys"});
  ASSERT_NE(build(*farm, "second", "another model"), "");
  recall(*farm, first);
  const std::string forgotten = recalls(*farm).text;
  const signing::Checkpoint seen = checkpoint(*farm);
  farm->coordinator_.reset();
  farm->log_.reset();
  std::filesystem::copy(farm->directory_ / "tiles", place_ / "tiles",
                        std::filesystem::copy_options::recursive);

  PostgresServer after;
  FarmProcesses restored(after, *farm);
  farm.reset();
  before.reset();
  expectOk({"restore", "--from", place_ / "early", "--farm", restored.directory_.path(), "--database",
            restored.database_});
  std::filesystem::remove_all(restored.directory_ / "tiles");
  std::filesystem::copy(place_ / "tiles", restored.directory_ / "tiles",
                        std::filesystem::copy_options::recursive);
  restored.startSigner();
  restored.startLog();
  start(restored);
  ASSERT_TRUE(restored.ready()) << restored.log();
  const auto client = client::Client::open({.endpoint = restored.endpoint()}).value();
  EXPECT_EQ(client->recalls().value(), "") << "newer than the backup";
  // The log has the recall: nothing is built until it is in force again.
  v1::Job refused;
  const grpc::Status early = restored.submit(
      testing_support::sampleRequest(
          "early", 1, storage::putBlob(*restored.blobs_, "default", asBytes("another model")).value()),
      &refused);
  EXPECT_EQ(early.error_code(), grpc::StatusCode::UNAVAILABLE) << early.error_message();
  EXPECT_NE(early.error_message().find("the log holds 1 recall"), std::string::npos) << early.error_message();
  ASSERT_TRUE(client->publishRecalls(forgotten));
  EXPECT_NE(build(restored, "again", "another model"), "");
  expectContinues(restored, seen);
  EXPECT_EQ(recalls(restored).entries.size(), 1u);
  EXPECT_EQ(restored.count("signatures"), static_cast<int>(checkpoint(restored).size))
      << "the recall keeps the entry that it had";
  expectContinues(restored, seen);
}

}  // namespace
}  // namespace kiln::fault
