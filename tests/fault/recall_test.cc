// Recalls against real processes: kiln recall asks the farm what it touches, several holders sign, the farm's
// log takes it in; and a coordinator that is killed between the log and the index.
#include <gtest/gtest.h>

#include <fstream>

#include "api/client/client.h"
#include "coordinator/farm/observers.h"
#include "manifest/base/durable_file.h"
#include "signing/keys/files.h"
#include "signing/recall/recalls.h"
#include "tests/fault/farm_processes.h"
#include "tests/support/fake_worker.h"

namespace kiln::fault {
namespace {

using signing::LogProofs;
using signing::Recalls;
using testing_support::FakeWorker;

struct Answer {
  int exit = -1;
  std::string said;
  Json json() const { return parseJson(said.substr(said.find('{'))).value(); }
};

class RecallFarm : public ::testing::Test {
 protected:
  RecallFarm() : farm(testing_support::PostgresServer::shared()) {
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(keys[i].save(keyFile(i)));
    root.recallKeys = signing::RecallKeys{{1, {keys[0].publicKey(), keys[1].publicKey()}}, 2, 10};
    writeRoot(true);
  }
  void writeRoot(bool withLog) {
    const signing::VerifierKey log = farm.logKey();
    root.logs.clear();
    if (withLog)
      root.logs = {{log.name, log.key.der(), farm.clock_.now() - std::chrono::hours(1), root.expires}};
    EXPECT_TRUE(replaceFile(rootFile, root.toJson().dump()));
  }
  void start(const std::string& dieAt = "") {
    farm.coordinator_.reset();
    farm.startCoordinator(dieAt, 5, {"--log-tiles", farm.directory_ / "tiles", "--trust-root", rootFile});
    ASSERT_TRUE(farm.ready()) << farm.log();
  }
  // One artifact, built by w1.
  void publish() {
    ASSERT_TRUE(farm.addToolchain());
    FakeWorker worker(farm.channel_, *farm.blobs_, farm.authority_, farm.directory_.path(), "w1", "op",
                      farm.clock_.now());
    ASSERT_TRUE(worker.synchronize({}));
    v1::Job job;
    ASSERT_TRUE(farm.submit(farm.request("first"), &job).ok());
    ASSERT_TRUE(eventually([&] {
      EXPECT_TRUE(worker.work());
      job = farm.get(job.id());
      return job.state() == v1::JOB_SUCCEEDED || job.state() == v1::JOB_FAILED;
    }));
    ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
    artifact = job.artifacts(0).digest();
    published = farm.count("signatures");
    // The index is fed from the statements.
    ASSERT_TRUE(eventually([&] { return farm.count("mentions") > 0; }));
  }
  Answer recall(std::vector<std::string> arguments) {
    const std::string out = farm.directory_ / ("recall" + std::to_string(++runs) + ".txt");
    arguments.insert(arguments.begin(), {KILN_BIN "/kiln", "recall", "--trust-root", rootFile, "--endpoint",
                                         farm.endpoint(), "--json"});
    testing_support::ChildProcess process(arguments, out);
    const int exit = process.wait();
    return {exit, signing::readTextFile(out, 1 << 20).value()};
  }
  std::string keyFile(int which) const {
    return farm.directory_ / ("recall-" + std::to_string(which) + ".key");
  }
  std::unique_ptr<client::Client> client() {
    return client::Client::open({.endpoint = farm.endpoint()}).value();
  }
  Recalls inForce() { return Recalls::parse(client()->recalls().value(), root).value(); }

  FarmProcesses farm;
  std::vector<signing::PrivateKey> keys{signing::PrivateKey::create().value(),
                                        signing::PrivateKey::create().value()};
  signing::TrustRoot root =
      signing::developmentRoot(farm.key_.publicKey(), "urn:kiln:builder:fault", farm.clock_.now());
  const std::string rootFile = farm.directory_ / "root.json", file = farm.directory_ / "recalls.json";
  std::string artifact;
  int published = 0;  // signatures before anything was recalled
  int runs = 0;
};

TEST_F(RecallFarm, OneHolderRecallsWhatTheFarmListsInOneCommand) {
  start();
  publish();
  const Answer shown =
      recall({"--worker", "w1", "--since", "2020-01-01T00:00:00Z", "--reason", "r", "--dry-run"});
  ASSERT_EQ(shown.exit, 0) << shown.said;
  EXPECT_EQ(shown.json()["signaturesNeeded"], 2);
  const Json resolved = shown.json()["recall"];
  EXPECT_EQ(resolved["listed"].size(), 1u) << shown.said;
  ASSERT_EQ(resolved["logs"].size(), 1u) << shown.said;
  EXPECT_EQ(resolved["logs"][0]["origin"], farm.logKey().name);
  EXPECT_NE(resolved["logs"][0]["from"], "0") << "behind the toolchain's admission";
  EXPECT_EQ(resolved["logs"][0]["to"], std::to_string(signing::kRecallWithoutEnd));

  const std::string tree = farm.toolchain_;
  const Answer done =
      recall({"--toolchain", tree, "--listed-only", "--reason", "bad linker", "--sign-with", keyFile(0)});
  ASSERT_EQ(done.exit, 0) << done.said;
  EXPECT_EQ(done.json()["logged"], true);
  const Recalls recalls = inForce();
  EXPECT_TRUE(recalls.logged);
  EXPECT_FALSE(recalls.checkpoint.empty()) << "it names what its issuer had seen";
  EXPECT_NE(recalls.condemns({Digest::parse(artifact, 0)->hash, 0}), nullptr);
  EXPECT_EQ(recalls.condemns({Digest::parse(tree, 0)->hash, 0}), nullptr) << "no more than was listed";
  EXPECT_EQ(signing::readTextFile(file, 1 << 20).value(), recalls.text);
  EXPECT_EQ(farm.count("signatures"), published + 1);

  const Answer nothing =
      recall({"--worker", "w7", "--listed-only", "--reason", "r", "--sign-with", keyFile(0)});
  EXPECT_EQ(nothing.exit, 6) << nothing.said;
}

// Of every selector: a recall that touches nothing would be signed, published and trusted to work.
TEST_F(RecallFarm, WhatMatchesNothingIsNotSignedUnlessItIsMeantAheadOfTime) {
  start();
  publish();
  const std::string nobody = digestOf("nobody's").text();
  const std::pair<const char*, std::string> selectors[] = {
      {"--artifact", nobody},
      {"--toolchain", nobody},
      {"--component", nobody},
      {"--source", nobody},
      {"--source", "https://git.example.org/models"},
      {"--record", nobody},
      {"--worker", "w9"},
      {"--operator", "nobody"},
      {"--device", "no processor"},
      {"--key", signing::PrivateKey::create()->publicKey().id()}};
  for (const auto& [selector, what] : selectors) {
    std::vector<std::string> words{selector,      what,       "--reason",    "r",
                                   "--sign-with", keyFile(0), "--sign-with", keyFile(1)};
    const Answer refused = recall(words);
    EXPECT_EQ(refused.exit, 6) << selector << refused.said;
    EXPECT_NE(refused.said.find("--unmatched"), std::string::npos) << refused.said;
    EXPECT_FALSE(std::filesystem::exists(file)) << selector;
    EXPECT_EQ(farm.count("recalls"), 0) << selector;
    words.insert(words.end(), {"--unmatched", "--dry-run"});
    EXPECT_EQ(recall(words).exit, 0) << selector;
  }
  EXPECT_EQ(recall({"--source", "wrong.onnx", "--reason", "r", "--sign-with", keyFile(0)}).exit, 6)
      << "the name of a local file is in no statement";
}

TEST_F(RecallFarm, AFileOrTheFirstDigitsNameWhatWasMadeOfIt) {
  start();
  publish();
  const Json whole = recall({"--artifact", artifact, "--reason", "r", "--dry-run"}).json()["recall"];
  EXPECT_EQ(
      recall({"--artifact", artifact.substr(0, 19), "--reason", "r", "--dry-run"}).json()["recall"]["what"],
      whole["what"]);
  const std::string model = farm.directory_ / "model.onnx";
  ASSERT_TRUE(replaceFile(model, "a model"));
  const std::string digest = digestOf("a model").text();
  for (const std::string& source : {model, digest, digest.substr(0, 19)}) {
    const Answer shown = recall({"--source", source, "--reason", "r", "--dry-run"});
    ASSERT_EQ(shown.exit, 0) << source << shown.said;
    EXPECT_EQ(shown.json()["recall"]["what"], digest) << source;
    EXPECT_EQ(shown.json()["recall"]["listed"], Json::array({artifact})) << source;
  }
  EXPECT_EQ(recall({"--toolchain", farm.toolchain_.substr(0, 19), "--reason", "r", "--dry-run"})
                .json()["recall"]["what"],
            farm.toolchain_);
}

TEST_F(RecallFarm, WhereTheLogHoldsAnArtifactIsProvenByItsName) {
  start();
  publish();
  const std::string out = farm.directory_ / "proof.txt";
  testing_support::ChildProcess process({KILN_BIN "/kiln", "log", "prove", artifact, "--endpoint",
                                         farm.endpoint(), "--trust-root", rootFile, "--json"},
                                        out);
  ASSERT_EQ(process.wait(), 0) << signing::readTextFile(out, 1 << 20).value();
  const Json proven = parseJson(signing::readTextFile(out, 1 << 20).value()).value();
  ASSERT_FALSE(proven["entries"].empty());
  EXPECT_EQ(proven["entries"][0]["origin"], farm.logKey().name);
}

TEST_F(RecallFarm, ComponentsReachTheToolchainsThatHoldThem) {
  start();
  publish();
  for (const std::string& name :
       {digestOf("the compiler").text(), std::string("kiln-cc@0.1.0"), std::string("kiln-cc")}) {
    const Json shown = recall({"--component", name, "--reason", "r", "--dry-run"}).json()["recall"];
    std::vector<std::string> listed = shown["listed"];
    std::vector<std::string> wanted{artifact, farm.toolchain_};
    std::ranges::sort(wanted);
    EXPECT_EQ(listed, wanted) << name;
    EXPECT_EQ(shown["what"], digestOf("the compiler").text());
  }
  EXPECT_EQ(recall({"--toolchain", "kiln-test", "--reason", "r", "--dry-run"}).json()["recall"]["what"],
            farm.toolchain_);
  EXPECT_EQ(recall({"--component", "ld", "--reason", "r", "--dry-run"}).exit, 6);
}

TEST_F(RecallFarm, TheSecondHolderCompletesWhatTheFirstBegan) {
  start();
  publish();
  const Answer draft = recall({"--operator", "op", "--reason", "break-in", "--sign-with", keyFile(0)});
  ASSERT_EQ(draft.exit, 0) << draft.said;
  EXPECT_EQ(draft.json()["complete"], false);
  EXPECT_EQ(farm.count("recalls"), 0);
  EXPECT_EQ(farm.count("signatures"), published) << "nothing is logged that lacks signatures";
  const std::string half = signing::readTextFile(file + ".draft", 1 << 20).value();
  const Answer tooEarly = recall({"--cosign", file + ".draft"});
  EXPECT_NE(tooEarly.exit, 0) << "nothing was published";
  EXPECT_NE(tooEarly.said.find("recall keys that it needs"), std::string::npos) << tooEarly.said;
  ASSERT_TRUE(replaceFile(farm.directory_ / "garbage", "{}"));
  EXPECT_NE(recall({"--cosign", farm.directory_ / "garbage"}).exit, 0);
  EXPECT_EQ(signing::readTextFile(file + ".draft", 1 << 20).value(), half);
  const Answer done = recall({"--cosign", file + ".draft", "--sign-with", keyFile(1)});
  ASSERT_EQ(done.exit, 0) << done.said;
  EXPECT_TRUE(inForce().logged);
  EXPECT_EQ(inForce().entries.size(), 1u);
  const Answer lifted = recall({"--lift", inForce().entries[0].id().text(), "--reason", "it was a drill",
                                "--sign-with", keyFile(0), "--sign-with", keyFile(1)});
  ASSERT_EQ(lifted.exit, 0) << lifted.said;
  EXPECT_EQ(inForce().entries.size(), 2u);
  EXPECT_EQ(farm.count("signatures"), published + 2) << "lifting is another entry of the log";
}

TEST_F(RecallFarm, HoldersWithoutTheFarmSignAndSomebodyElsePublishes) {
  start();
  std::vector<std::string> signing{"--artifact", digestOf("a").text(), "--unmatched", "--reason",
                                   "r",          "--no-publish",       "--sign-with", keyFile(0)};
  const Answer draft = recall(signing);
  ASSERT_EQ(draft.exit, 0) << draft.said;
  EXPECT_EQ(draft.json()["complete"], false) << "not in the log";
  const Answer done = recall({"--cosign", file + ".draft"});
  ASSERT_EQ(done.exit, 0) << done.said;
  EXPECT_EQ(done.json()["complete"], true);
  EXPECT_TRUE(inForce().logged);
}

// Its key is the one that is valid, whatever became of the key under which the first proof was made.
TEST_F(RecallFarm, OldRecallsAreProvenUnderTheNewestCheckpoint) {
  start();
  ASSERT_EQ(
      recall({"--artifact", digestOf("a").text(), "--unmatched", "--reason", "r", "--sign-with", keyFile(0)})
          .exit,
      0);
  const std::uint64_t first = inForce().seen.at(0).size;
  publish();
  ASSERT_EQ(recall({"--refresh", "--no-publish", "--sign-with", keyFile(0)}).exit, 0);
  const Answer done = recall({"--cosign", file + ".draft"});
  ASSERT_EQ(done.exit, 0) << done.said;
  EXPECT_EQ(inForce().version, 2u);
  EXPECT_GT(inForce().seen.at(0).size, first);
}

TEST_F(RecallFarm, KilledBetweenLogAndIndexTheSameAgainGoesOn) {
  start(std::string(service::kPointRecallLogged));
  ASSERT_EQ(recall({"--artifact", digestOf("a").text(), "--unmatched", "--reason", "r", "--no-publish",
                    "--sign-with", keyFile(0)})
                .exit,
            0);
  const std::string kept = file + ".unpublished";
  EXPECT_EQ(recall({"--cosign", file + ".draft"}).exit, 7);
  EXPECT_EQ(farm.coordinator_->wait(), 128 + SIGKILL);
  EXPECT_EQ(signing::readTextFile(kept, 1 << 20).value(),
            signing::readTextFile(file + ".draft", 1 << 20).value());
  EXPECT_EQ(farm.count("signatures"), 1);
  EXPECT_EQ(farm.count("recalls"), 0);
  start();
  for (const std::string& signed_ : {kept, file + ".draft"}) {  // and once more changes nothing
    const Answer again = recall({"--cosign", signed_});
    ASSERT_EQ(again.exit, 0) << again.said;
    EXPECT_EQ(farm.count("signatures"), 1);
    EXPECT_EQ(farm.count("recalls"), 1);
    EXPECT_FALSE(std::filesystem::exists(kept));
  }
  EXPECT_TRUE(inForce().logged);
}

// What was signed on top of an earlier version is of no more use to anybody.
TEST_F(RecallFarm, ADraftThatLostTheRaceIsToBeDraftedAgain) {
  start();
  const auto draft = [&](const std::string& name) { return file + "-" + name; };
  for (const std::string& name : {std::string("a"), std::string("b")})
    ASSERT_EQ(recall({"--artifact", digestOf(name).text(), "--unmatched", "--reason", "r", "--no-publish",
                      "--out", draft(name), "--sign-with", keyFile(0)})
                  .exit,
              0);
  ASSERT_EQ(recall({"--cosign", draft("a") + ".draft"}).exit, 0);
  const Answer lost = recall({"--cosign", draft("b") + ".draft"});
  EXPECT_EQ(lost.exit, 2) << lost.said;
  EXPECT_NE(lost.said.find("draft it again on top of version 1"), std::string::npos) << lost.said;
  EXPECT_FALSE(std::filesystem::exists(file + ".unpublished"));
  // One that was overtaken on its way to the farm is told the same.
  const auto late = client()->publishRecalls(signing::readTextFile(draft("b") + ".draft", 1 << 20).value());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kAlreadyExists) << late.error().message;
  EXPECT_NE(late.error().message.find("draft it again on top of version 1"), std::string::npos)
      << late.error().message;
}

TEST_F(RecallFarm, WithoutTheLogNothingComesIntoForce) {
  farm.coordinator_.reset();
  farm.startCoordinator("", 5, {"--trust-root", rootFile});
  ASSERT_TRUE(farm.ready());
  ASSERT_EQ(recall({"--artifact", digestOf("a").text(), "--unmatched", "--reason", "r", "--no-publish",
                    "--sign-with", keyFile(0)})
                .exit,
            0);
  const Answer refused = recall({"--cosign", file + ".draft"});
  EXPECT_NE(refused.exit, 0);
  EXPECT_NE(refused.said.find("--log-tiles"), std::string::npos) << refused.said;
  EXPECT_EQ(farm.count("recalls"), 0);
}

// From a farm whose root named no log: what is in force stays so, and is proven once the root names one.
TEST_F(RecallFarm, RecallsFromBeforeTheLogAreBroughtForward) {
  writeRoot(false);
  start();
  const Answer done =
      recall({"--artifact", digestOf("a").text(), "--unmatched", "--reason", "r", "--sign-with", keyFile(0)});
  ASSERT_EQ(done.exit, 0) << done.said;
  EXPECT_EQ(done.json()["logged"], false);
  EXPECT_EQ(farm.count("signatures"), 0);
  ++root.version;
  writeRoot(true);
  start();
  ASSERT_TRUE(eventually([&] { return Recalls::parse(client()->recalls().value(), root).has_value(); }));
  EXPECT_EQ(inForce().version, 1u) << "the same, with its proof";
  EXPECT_EQ(farm.count("signatures"), 1);
  const Answer refreshed = recall({"--refresh", "--sign-with", keyFile(1)});
  ASSERT_EQ(refreshed.exit, 0) << refreshed.said;
  EXPECT_EQ(inForce().version, 2u);
  EXPECT_TRUE(inForce().logged);
}

}  // namespace
}  // namespace kiln::fault
