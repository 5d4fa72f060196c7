// Keys change while a farm runs: a signer's and a log's. Jobs that meet the change wait and succeed; what the
// old keys signed counts as long as the root lets it.
#include <gtest/gtest.h>

#include "manifest/base/exit_code.h"
#include "signing/follow/tile_directory.h"
#include "signing/keys/files.h"
#include "signing/log/checkpoint.h"
#include "signing/policy/policy.h"
#include "signing/trust/trust_root.h"
#include "tests/fault/farm_processes.h"
#include "tests/support/fake_worker.h"

namespace kiln::fault {
namespace {

using testing_support::FakeWorker;

class Rotation : public ::testing::Test {
 protected:
  Rotation() : farm(testing_support::PostgresServer::shared()) {
    // The log's next key is known before it is used.
    ChildProcess makeKey(
        {KILN_BIN "/kiln-log", "make-key", "--origin", farm.logKey().name, "--out", file("next")},
        file("make.log"));
    EXPECT_EQ(makeKey.wait(), 0);
    root.logs = {trusted(farm.logKey())};
    farm.startCoordinator("", 5, {"--log-key", file("next.vkey")});
    EXPECT_TRUE(farm.ready()) << farm.log();
    worker = std::make_unique<FakeWorker>(farm.channel_, *farm.blobs_, farm.authority_,
                                          farm.directory_.path(), "w1", "op", farm.clock_.now());
    EXPECT_TRUE(worker->synchronize({}));
    EXPECT_TRUE(farm.addToolchain());
    signing::Policy policy{.name = "logged",
                           .allowDevelopment = true,
                           .builderIds = {"*"},
                           .targets = {"*"},
                           .toolchains = {"*"}};
    policy.requireLog = true;
    EXPECT_TRUE(signing::writeTextFile(file("policy.json"), policy.toJson().dump()));
  }

  std::string file(const std::string& name) const { return farm.directory_ / name; }
  signing::TrustedLog trusted(const signing::VerifierKey& log) const {
    return {log.name, log.key.der(), root.keys[0].validFrom, root.expires};
  }
  v1::Job submit(const std::string& model) {
    const Digest blob = storage::putBlob(*farm.blobs_, "default", asBytes(model)).value();
    v1::Job job;
    EXPECT_TRUE(
        farm.submit(testing_support::sampleRequest("key-" + std::to_string(++submitted), 1, blob), &job)
            .ok());
    return job;
  }
  // Its artifact.
  std::string settled(v1::Job job) {
    EXPECT_TRUE(eventually([&] {
      EXPECT_TRUE(worker->work());
      job = farm.get(job.id());
      return job.state() == v1::JOB_SUCCEEDED || job.state() == v1::JOB_FAILED;
    })) << farm.log();
    EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
    return job.artifacts_size() == 1 ? job.artifacts(0).digest() : "";
  }
  // Lets the worker do its part, so that only signing or logging is left.
  v1::Job submittedAndBuilt(const std::string& model) {
    const v1::Job job = submit(model);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(worker->work());
    EXPECT_NE(farm.get(job.id()).state(), v1::JOB_SUCCEEDED);
    return job;
  }
  // The exit code of a fetch under the root as it is now.
  int fetch(const std::string& artifact) {
    const std::string number = std::to_string(++fetched);
    EXPECT_TRUE(signing::writeTextFile(file("root" + number + ".json"), root.toJson().dump()));
    ChildProcess process(
        {KILN_BIN "/kiln", "fetch", artifact, "--out", file("out" + number), "--endpoint", farm.endpoint(),
         "--trust-root", file("root" + number + ".json"), "--policy", file("policy.json")},
        file("fetch.log"));
    return process.wait();
  }
  std::string said(const std::string& name) const {
    return signing::readTextFile(file(name), 1 << 20).value();
  }
  std::uint64_t logSize() const {
    const std::string text = signing::TileDirectory(file("tiles")).checkpoint().value();
    return signing::Checkpoint::parse(signing::parseNote(text)->text)->size;
  }
  // Whose key signs from now on.
  void useSigner(const signing::PrivateKey& key) {
    std::filesystem::remove(file("keys/signer.pem"));
    EXPECT_TRUE(key.save(file("keys/signer.pem")));
    farm.startSigner();
  }

  FarmProcesses farm;
  std::unique_ptr<FakeWorker> worker;
  signing::TrustRoot root =
      signing::developmentRoot(farm.key_.publicKey(), "urn:kiln:builder:fault", farm.clock_.now());
  int fetched = 0, submitted = 0;
};

TEST_F(Rotation, TheSignersKeyChangesAndTheOldOneIsRevokedByTheOrderOfTheLog) {
  const std::string first = settled(submit("a model"));
  const auto next = signing::PrivateKey::create().value();
  farm.signer_.reset();
  const v1::Job waiting = submittedAndBuilt("another model");
  useSigner(next);
  const std::string second = settled(waiting);
  EXPECT_EQ(fetch(first), 0) << said("fetch.log");
  EXPECT_EQ(fetch(second), 5) << "the root does not know the new key yet";
  root.keys.push_back({next.publicKey(), root.keys[0].validFrom, root.keys[0].validUntil});
  root.builders[0].keys.push_back(next.publicKey().id());
  for (const std::string& artifact : {first, second}) EXPECT_EQ(fetch(artifact), 0) << said("fetch.log");

  // The old key is stolen, and signs once more, behind the size at which it was safe.
  root.revocations = {
      {farm.key_.publicKey().id(), farm.clock_.now(), "stolen", {{farm.logKey().name, logSize()}}}};
  farm.signer_.reset();
  useSigner(farm.key_);
  const std::string forged = settled(submit("a third model"));
  EXPECT_EQ(fetch(forged), 5);
  EXPECT_NE(said("fetch.log").find("was revoked"), std::string::npos) << said("fetch.log");
  for (const std::string& artifact : {first, second}) EXPECT_EQ(fetch(artifact), 0) << said("fetch.log");
}

TEST_F(Rotation, TheLogsKeyChangesAndItsTreeGoesOn) {
  const std::string first = settled(submit("a model"));
  const std::uint64_t before = logSize();
  const signing::VerifierKey oldKey = farm.logKey(),
                             newKey = signing::loadVerifierKey(file("next.vkey")).value();
  farm.log_.reset();
  const v1::Job waiting = submittedAndBuilt("another model");
  const std::vector<std::string> command{KILN_BIN "/kiln-log", "serve",        "--key",   file("next"),
                                         "--database",         farm.database_, "--tiles", file("tiles")};
  ChildProcess stranger(command, file("stranger.log"));
  EXPECT_EQ(stranger.wait(), kExitVerification) << "a key that the log is not known by";
  EXPECT_NE(said("stranger.log").find("--earlier-key"), std::string::npos) << said("stranger.log");
  auto known = command;
  known.insert(known.end(), {"--earlier-key", file("keys/log.vkey")});
  farm.log_ = std::make_unique<ChildProcess>(known, file("log.log"));
  const std::string second = settled(waiting);
  EXPECT_GT(logSize(), before);
  EXPECT_EQ(fetch(first), 0) << said("fetch.log");
  EXPECT_EQ(fetch(second), 5) << "the root does not know the new key yet";
  root.logs.push_back(trusted(newKey));
  for (const std::string& artifact : {first, second}) EXPECT_EQ(fetch(artifact), 0) << said("fetch.log");
  // The same submission again gets what the old key's checkpoint covers.
  EXPECT_EQ(settled(submit("a model")), first);
  // Its validity ends: one key's window says nothing for the other, though both are the same log's.
  root.logs[0].validUntil = farm.clock_.now() - std::chrono::seconds(1);
  EXPECT_EQ(fetch(first), 5);
  EXPECT_NE(said("fetch.log").find("requireLog"), std::string::npos) << said("fetch.log");
  EXPECT_EQ(fetch(second), 0) << said("fetch.log");
}

// What is wrong with a file of the caller's is no internal error, whichever program meets it.
TEST(KeyCommands, ExitByTheTable) {
  const testing_support::TempDirectory directory;
  ASSERT_TRUE(signing::PrivateKey::create()->save(directory / "there.pem"));
  const std::string there = directory / "there.pem", none = directory / "none/k";
  const std::string signer = KILN_BIN "/kiln-signer", log = KILN_BIN "/kiln-log";
  const std::pair<std::vector<std::string>, int> runs[] = {
      {{signer, "make-key", "--out", there}, kExitUsage},
      {{signer, "make-key", "--out", none}, kExitNotFound},
      {{signer, "make-worker-ca", "--out", none}, kExitNotFound},
      {{signer, "make-root", "--key", there, "--builder-id", "urn:b", "--development", "--out", there},
       kExitUsage},
      {{log, "make-key", "--origin", "log.example", "--out", none}, kExitNotFound},
      {{log, "serve", "--key", none, "--database", "dbname=none", "--tiles", directory / "t"},
       kExitNotFound}};
  for (const auto& [words, exit] : runs) {
    ChildProcess process(words, directory / "said");
    EXPECT_EQ(process.wait(), exit) << testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace kiln::fault
