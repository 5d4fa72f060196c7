// `kiln log witness` as a process beside a farm: it follows and cosigns a log that grows, a policy asks for
// its word, and it is killed.
#include <gtest/gtest.h>

#include "manifest/base/durable_file.h"
#include "signing/follow/http.h"
#include "signing/follow/tile_directory.h"
#include "signing/keys/files.h"
#include "signing/log/checkpoint.h"
#include "signing/log/cosignature.h"
#include "signing/policy/policy.h"
#include "signing/trust/trust_root.h"
#include "signing/witness/add_checkpoint.h"
#include "tests/fault/farm_processes.h"
#include "tests/support/fake_worker.h"

namespace kiln::fault {
namespace {

using signing::AddCheckpoint;
using signing::TileDirectory;
using testing_support::FakeWorker;

class WitnessedFarm : public ::testing::Test {
 protected:
  WitnessedFarm() : farm(testing_support::PostgresServer::shared()) {
    farm.startCoordinator();
    EXPECT_TRUE(farm.ready()) << farm.log();
    worker = std::make_unique<FakeWorker>(farm.channel_, *farm.blobs_, farm.authority_,
                                          farm.directory_.path(), "w1", "op", farm.clock_.now());
    EXPECT_TRUE(worker->synchronize({}));
    EXPECT_TRUE(farm.addToolchain());
    startWitness();
    const signing::VerifierKey log = farm.logKey();
    signing::TrustRoot root =
        signing::developmentRoot(farm.key_.publicKey(), "urn:kiln:builder:fault", farm.clock_.now());
    root.logs = {{log.name, log.key.der(), root.keys[0].validFrom, root.expires}};
    root.witnesses = {{"witness.example", witnessKey().key.der()}};
    signing::Policy policy{.name = "witnessed",
                           .allowDevelopment = true,
                           .builderIds = {"*"},
                           .targets = {"*"},
                           .toolchains = {"*"}};
    policy.requireLog = true;
    policy.minWitnesses = 1;
    EXPECT_TRUE(signing::writeTextFile(file("root.json"), root.toJson().dump()));
    EXPECT_TRUE(signing::writeTextFile(file("policy.json"), policy.toJson().dump()));
  }

  std::string file(const std::string& name) const { return farm.directory_ / name; }
  signing::VerifierKey witnessKey() const { return signing::loadVerifierKey(file("witness.vkey")).value(); }
  // Listens where it did before, once it has a port.
  void startWitness(const std::string& follow = "tiles") {
    witness.reset();
    std::filesystem::remove(file("witness.port"));
    witness = std::make_unique<ChildProcess>(
        std::vector<std::string>{KILN_BIN "/kiln", "log", "witness", "--name", "witness.example", "--key",
                                 file("witness"), "--state", file("witnessed"), "--log-key",
                                 file("keys/log.vkey"), "--listen", "127.0.0.1:" + port, "--port-file",
                                 file("witness.port"), "--follow", file(follow), "--every", "1"},
        file("witness.log"));
    std::string line;  // the file is there before its line is
    ASSERT_TRUE(eventually([&] {
      line = signing::readTextFile(file("witness.port"), 16).value_or("");
      return line.ends_with('\n');
    })) << said("witness.log");
    port = line.substr(0, line.size() - 1);
  }
  std::string url() const { return "http://127.0.0.1:" + port; }
  void sequenceWithWitness() {
    farm.log_.reset();
    farm.startLog({"--witness", file("witness.vkey") + "=" + url()});
  }
  v1::Job submit(const std::string& key) {
    v1::SubmitJobRequest request = farm.request(key);
    v1::Job job;
    EXPECT_TRUE(farm.submit(request, &job).ok());
    return job;
  }
  v1::Job settled(v1::Job job) {
    EXPECT_TRUE(eventually([&] {
      EXPECT_TRUE(worker->work());
      job = farm.get(job.id());
      return job.state() == v1::JOB_SUCCEEDED || job.state() == v1::JOB_FAILED;
    }));
    return job;
  }
  int fetch(const v1::Job& job, const std::string& to) {
    ChildProcess process(
        {KILN_BIN "/kiln", "fetch", job.artifacts(0).digest(), "--out", file(to), "--endpoint",
         farm.endpoint(), "--trust-root", file("root.json"), "--policy", file("policy.json")},
        file("fetch.log"));
    return process.wait();
  }
  std::string said(const std::string& name) const {
    return signing::readTextFile(file(name), 1 << 20).value();
  }
  signing::Checkpoint published() const {
    const std::string text = TileDirectory(file("tiles")).checkpoint().value();
    return signing::openCheckpoint(signing::parseNote(text).value(), farm.logKey()).value();
  }
  // What the witness has cosigned; size 0 before the first.
  signing::Checkpoint cosigned() const {
    const auto answer = signing::httpGet(url() + "/checkpoint/" + farm.logKey().name, 1 << 16);
    if (!answer || answer->status != 200) return {};
    const signing::Note note = signing::parseNote(answer->body).value();
    const signing::VerifierKey key = witnessKey();
    EXPECT_EQ(signing::readCosignatures(note, std::span(&key, 1))->size(), 1u);
    return signing::openCheckpoint(note, farm.logKey()).value();
  }

  FarmProcesses farm;
  std::unique_ptr<FakeWorker> worker;
  std::unique_ptr<ChildProcess> witness;
  std::string port = "0";
};

TEST_F(WitnessedFarm, FollowsALogThatGrowsAndComesBackFromAKill) {
  ASSERT_TRUE(eventually([&] { return cosigned().size >= 1; })) << said("witness.log");
  ASSERT_EQ(settled(submit("first")).state(), v1::JOB_SUCCEEDED);
  ASSERT_TRUE(eventually([&] { return cosigned() == published() && published().size >= 2; }));
  const signing::Checkpoint before = cosigned();
  witness->kill();
  EXPECT_EQ(cosigned().size, 0u) << "nobody answers";
  startWitness();
  EXPECT_TRUE(eventually([&] { return cosigned() == before; })) << "it had been durable";
}

TEST_F(WitnessedFarm, APolicyTakesWhatTheQuorumSawAndNothingElse) {
  const v1::Job alone = settled(submit("alone"));
  ASSERT_EQ(alone.state(), v1::JOB_SUCCEEDED);
  EXPECT_EQ(fetch(alone, "alone"), 5);
  EXPECT_NE(said("fetch.log").find("witness"), std::string::npos) << said("fetch.log");

  sequenceWithWitness();
  v1::SubmitJobRequest other = testing_support::sampleRequest(
      "seen", 1, storage::putBlob(*farm.blobs_, "default", asBytes("another model")).value());
  v1::Job seen;
  ASSERT_TRUE(farm.submit(other, &seen).ok());
  seen = settled(seen);
  ASSERT_EQ(seen.state(), v1::JOB_SUCCEEDED) << seen.error().message();
  EXPECT_EQ(fetch(seen, "seen"), 0) << said("fetch.log");

  // Without its witness the log publishes nothing, and nothing is released.
  witness->kill();
  other = testing_support::sampleRequest(
      "third", 1, storage::putBlob(*farm.blobs_, "default", asBytes("a third model")).value());
  v1::Job third;
  ASSERT_TRUE(farm.submit(other, &third).ok());
  ASSERT_TRUE(eventually([&] {
    EXPECT_TRUE(worker->work());
    return said("log.log").find("0 of 1 witnesses") != std::string::npos;
  })) << said("log.log");
  EXPECT_NE(farm.get(third.id()).state(), v1::JOB_SUCCEEDED);
  startWitness();
  third = settled(third);
  ASSERT_EQ(third.state(), v1::JOB_SUCCEEDED) << third.error().message();
  EXPECT_EQ(fetch(third, "third"), 0) << said("fetch.log");
}

TEST_F(WitnessedFarm, WhatItAnsweredItKnowsAfterAKill) {
  ASSERT_TRUE(eventually([&] { return cosigned().size >= 1; })) << said("witness.log");
  witness->kill();
  ASSERT_EQ(settled(submit("first")).state(), v1::JOB_SUCCEEDED);
  startWitness("nothing");  // follows no longer: only what is posted
  const std::uint64_t from = cosigned().size;
  const signing::Checkpoint now = published();
  ASSERT_GT(now.size, from);
  TileDirectory tiles(file("tiles"));
  signing::TileTree tree(tiles, now.size);
  const std::string note = tiles.checkpoint().value();
  const auto proof = signing::consistencyProof(tree, from, now.size).value();
  const auto post = [&](std::uint64_t old, std::vector<signing::TreeHash> hashes) {
    return signing::httpPost(url() + "/add-checkpoint", AddCheckpoint{old, std::move(hashes), note}.text(),
                             1 << 16)
        .value();
  };
  auto wrong = proof;
  wrong[0][0] = static_cast<std::uint8_t>(wrong[0][0] ^ 1);
  EXPECT_EQ(post(from, wrong).status, 422);
  EXPECT_EQ(post(now.size, {}).status, 409);
  EXPECT_EQ(post(from, proof).status, 200);
  witness->kill();  // at once: the answer is a promise
  startWitness("nothing");
  EXPECT_EQ(cosigned(), now);
  const auto again = post(from, proof);
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.body, std::to_string(now.size) + "\n");
}

TEST_F(WitnessedFarm, ASignalEndsItTheSameEachTime) {
  for (int i = 0; i < 10; ++i) {
    witness->signal(SIGTERM);
    EXPECT_EQ(witness->wait(), 128 + SIGTERM);
    startWitness();
  }
}

TEST_F(WitnessedFarm, ALogThatShowsAnotherHistoryEndsItWithExit5) {
  ASSERT_EQ(settled(submit("first")).state(), v1::JOB_SUCCEEDED);
  ASSERT_TRUE(eventually([&] { return cosigned() == published() && published().size >= 2; }));
  farm.log_.reset();
  const auto key = signing::Ed25519PrivateKey::load(file("keys/log.key")).value();
  const auto forged =
      signing::signCheckpoint({farm.logKey().name, published().size, signing::leafHash("other")}, key)
          .value();
  ASSERT_TRUE(replaceFile(file("tiles/checkpoint"), forged.toString()));
  EXPECT_EQ(witness->wait(), 5) << said("witness.log");
}

}  // namespace
}  // namespace kiln::fault
