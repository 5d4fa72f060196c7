// The drill: build, back up, destroy, restore elsewhere; then what was built is fetched and verified, and the
// farm builds.
#include <filesystem>

#include "signing/trust/trust_root.h"
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

  testing_support::TempDirectory place_;
  std::vector<int> epochs_;
};

TEST_F(BackupDrill, ADestroyedFarmComesBackElsewhere) {
  auto before = std::make_unique<PostgresServer>();
  auto farm = std::make_unique<FarmProcesses>(*before);
  farm->startCoordinator();
  ASSERT_TRUE(farm->ready()) << farm->log();
  ASSERT_TRUE(farm->addToolchain());
  const std::string artifact = build(*farm, "first", "a model");
  ASSERT_NE(artifact, "");
  const std::string root = place_ / "root.json", policy = KILN_POLICIES "/development.json";
  std::ofstream(root) << toCanonicalJson(signing::developmentRoot(farm->key_.publicKey(),
                                                                  "urn:kiln:builder:fault",
                                                                  farm->clock_.now())
                                             .toJson())
                             .value();

  // While it runs, and again: the second holds what came after the first.
  expectOk({"backup", "--farm", farm->directory_.path(), "--database", farm->database_, "--out",
            place_ / "early"});
  const std::string later = build(*farm, "second", "another model");
  expectOk({"backup", "--farm", farm->directory_.path(), "--database", farm->database_, "--out",
            place_ / "backup", "--with-keys", "--json"});
  EXPECT_FALSE(std::filesystem::exists(place_ / "early/state/keys"));
  EXPECT_TRUE(std::filesystem::exists(place_ / "backup/state/keys/signer.pem"));

  PostgresServer after;
  FarmProcesses restored(after, *farm);
  farm.reset();
  before.reset();

  expectOk({"restore", "--from", place_ / "backup", "--farm", restored.directory_.path(), "--database",
            restored.database_});
  const auto [again, said] = kiln({"restore", "--from", place_ / "backup", "--farm", place_ / "elsewhere",
                                   "--database", restored.database_});
  EXPECT_NE(again, 0) << "a database that is not empty";
  EXPECT_NE(said.find("pg_restore"), std::string::npos) << said;

  restored.startSigner();
  restored.startLog();
  restored.startCoordinator();
  ASSERT_TRUE(restored.ready()) << restored.log();
  for (const std::string& digest : {artifact, later}) {
    const std::string copy = place_ / ("copy-" + digest.substr(7, 8));
    expectOk({"fetch", digest, "--endpoint", restored.endpoint(), "--trust-root", root, "--policy", policy,
              "--out", copy});
    expectOk({"verify", copy, "--trust-root", root, "--policy", policy});
  }
  EXPECT_NE(build(restored, "third", "a third model"), "");
  // What was built before is known: the same again is a hit, and makes the same artifact.
  EXPECT_EQ(build(restored, "first-again", "a model"), artifact);
  EXPECT_GT(epochs_.back(), epochs_.front()) << "no lease epoch is used twice";
}

}  // namespace
}  // namespace kiln::fault
