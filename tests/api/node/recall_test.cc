// Recalls on a node: taken in, carried along, enforced at fetch and load, told about loaded artifacts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "api/node/kiln_node.h"
#include "api/node/open.h"
#include "signing/keys/files.h"
#include "tests/api/node/signed_artifact.h"
#include "tests/support/signed_root.h"
#include "tests/support/small_log.h"
#include "tests/support/witnessed_log.h"

namespace kiln::node {
namespace {

namespace fs = std::filesystem;

struct NodeRecallTest : testing::Test {
  testing_support::SignedArtifact artifact;
  testing_support::TempDirectory directory;
  std::vector<signing::PrivateKey> keys = testing_support::newKeys(2);
  const std::string fetched = directory / "out", root = directory / "root.json";
  const TimePoint now = SystemClock().now();

  void SetUp() override {
    artifact.trust.root.recallKeys = signing::RecallKeys{testing_support::thresholdOf(1, keys), 2, 10};
    artifact.writeTrust(directory.path());
  }
  Trust trust() const { return Trust::load(root, directory / "policy.json").value(); }
  // The next version of recalls.json with one more recall of these artifacts.
  std::string issue(const std::string& before, std::vector<Digest> artifacts) const {
    std::optional<signing::Recalls> old;
    if (!before.empty())
      old = signing::Recalls::parse(before, artifact.trust.root, signing::LogProofs::kIfAny).value();
    std::optional<signing::Recall> recall;
    if (!artifacts.empty()) {
      recall.emplace();
      recall->what = artifacts.front().text();
      recall->reason = "wrong weights";
      recall->issuedOn = now;
      recall->listed = std::move(artifacts);
    }
    return signing::Recalls::issue(old ? &*old : nullptr, recall, keys, now, now + std::chrono::days(7), "")
        .value();
  }
  Result<signing::Verdict> fetch(const std::string& offered, const std::string& to) {
    node::ArtifactRef ref = artifact.ref;
    ref.recalls = offered;
    return fetchArtifact(artifact.farm.store, ref, to, trust(), SystemClock());
  }
  static void expectRecalled(const Error& error) {
    EXPECT_NE(error.message.find("wrong weights"), std::string::npos) << error.message;
    EXPECT_NE(error.details.find("\"exitCode\":5"), std::string::npos) << error.details;
  }
};

TEST_F(NodeRecallTest, WhatIsRecalledIsNotFetched) {
  const auto refused = fetch(issue("", {artifact.farm.artifact}), fetched);
  ASSERT_FALSE(refused);
  expectRecalled(refused.error());
  EXPECT_FALSE(fs::exists(fetched));
}

TEST_F(NodeRecallTest, NewsIsRememberedBesideTheRoot) {
  ASSERT_FALSE(fetch(issue("", {artifact.farm.artifact}), fetched));
  const auto without = fetch("", fetched);  // a farm that keeps the news from us
  ASSERT_FALSE(without);
  expectRecalled(without.error());
  ASSERT_FALSE(fetch(issue("", {}), fetched)) << "an older version";
}

TEST_F(NodeRecallTest, RecallsTravelWithTheDirectory) {
  const std::string clean = issue("", {});
  ASSERT_TRUE(fetch(clean, fetched));
  EXPECT_EQ(signing::recallsIn(fetched).value(), clean);
  ASSERT_TRUE(openArtifact(fetched, {}, trust(), SystemClock()));
  fs::remove(fetched + "/recalls.json");
  ASSERT_TRUE(signing::writeTextFile(fetched + "/recalls.json", issue(clean, {artifact.farm.artifact})));
  const auto opened = openArtifact(fetched, {}, trust(), SystemClock());
  ASSERT_FALSE(opened);
  expectRecalled(opened.error());
  EXPECT_FALSE(openArtifact(fetched, {}, Trust::load(root, directory / "policy.json").value(), SystemClock()))
      << "also with what came along gone";
}

TEST_F(NodeRecallTest, RecallsTravelThroughTheCopyOfADirectoryThatIsOpenToOthers) {
  ASSERT_TRUE(fetch("", fetched));
  ASSERT_TRUE(signing::writeTextFile(fetched + "/recalls.json", issue("", {artifact.farm.artifact})));
  fs::permissions(fetched, fs::perms::all);
  const auto opened = openArtifact(fetched, {}, trust(), SystemClock());
  ASSERT_FALSE(opened);
  expectRecalled(opened.error());
}

TEST_F(NodeRecallTest, RecallsOfOthersThatComeAlongMeanNothing) {
  ASSERT_TRUE(fetch("", fetched));
  std::ofstream(fetched + "/recalls.json") << "{\"planted\":true}";
  EXPECT_TRUE(openArtifact(fetched, {}, trust(), SystemClock()));
  Trust named = trust();
  EXPECT_FALSE(named.learn(std::string("{\"planted\":true}"))) << "but one that was named must hold";
}

struct AttackCases : NodeRecallTest {};

TEST_F(AttackCases, Case13RecallsAreNotRolledBack) {
  const std::string first = issue("", {}), second = issue(first, {artifact.farm.artifact});
  Trust known = trust();
  ASSERT_TRUE(known.learn(second));
  ASSERT_TRUE(known.learn(first)) << "old news";
  EXPECT_EQ(known.recalls->version, 2u);
  const auto fork = known.learn(issue(issue(first, {}), {}));  // version 3 without the recall
  ASSERT_FALSE(fork);
  EXPECT_NE(fork.error().message.find("leaves out recalls"), std::string::npos) << fork.error().message;
  EXPECT_EQ(trust().recalls->version, 2u) << "remembered beside the root";
}

TEST_F(NodeRecallTest, OfTwoVersionsWithOneNumberTheFirstStays) {
  const std::string first = issue("", {artifact.farm.artifact}), other = issue("", {digestOf("another")});
  Trust known = trust();
  ASSERT_TRUE(known.learn(first));
  EXPECT_TRUE(known.learn(first)) << "no news, and no contradiction";
  const auto fork = known.learn(other);
  ASSERT_FALSE(fork);
  EXPECT_EQ(fork.error().code, Code::kDataLoss);
  EXPECT_NE(fork.error().message.find("contradicts"), std::string::npos) << fork.error().message;
  EXPECT_EQ(known.recalls->text, first);
  EXPECT_EQ(trust().recalls->text, first);
}

TEST_F(NodeRecallTest, LoadedArtifactsAreLookedAtAgain) {
  ASSERT_TRUE(fetch("", fetched));
  Trust known = trust();
  const VerifiedArtifact loaded = openArtifact(fetched, {}, known, SystemClock()).value();
  EXPECT_TRUE(recheckArtifact(loaded, known, SystemClock()));
  ASSERT_TRUE(known.learn(issue("", {artifact.farm.artifact})));
  const auto recalled = recheckArtifact(loaded, known, SystemClock());
  ASSERT_FALSE(recalled);
  expectRecalled(recalled.error());
}

// A root that came to name a log: what was remembered before applies, and is news again once it is proven.
TEST_F(NodeRecallTest, WhatWasRememberedBeforeTheRootNamedALogStillApplies) {
  const std::string old = issue("", {artifact.farm.artifact});
  ASSERT_TRUE(trust().learn(old));
  testing_support::SmallLog log("log.example");
  artifact.trust.root.logs = {log.trusted(now - std::chrono::hours(1), now + std::chrono::hours(1))};
  ++artifact.trust.root.version;
  fs::remove(directory / "root.json");
  artifact.trust.policy.maxRecallAgeSeconds = 3600;
  artifact.writeTrust(directory.path());
  const auto refused = fetch("", fetched);
  ASSERT_FALSE(refused);
  expectRecalled(refused.error());
  EXPECT_FALSE(trust().recalls->logged);
  EXPECT_FALSE(trust().learn(issue(old, {}))) << "and nothing unproven is news";
  Trust known = trust();
  ASSERT_TRUE(known.learn(log.prove(old, artifact.trust.root)));
  EXPECT_TRUE(trust().recalls->logged) << "remembered with its proof";
}

// A root that ends or drops the key of a log: what was proven under it applies, and nobody is locked out.
TEST_F(NodeRecallTest, WhatALogProvedThatIsListedNoMoreStillApplies) {
  testing_support::SmallLog log("log.example"), next("next.example");
  const auto hour = std::chrono::hours(1);
  artifact.trust.root.logs = {log.trusted(now - hour, now + hour)};
  artifact.writeTrust(directory.path());
  const std::string old = issue("", {artifact.farm.artifact});
  ASSERT_TRUE(trust().learn(log.prove(old, artifact.trust.root)));
  ASSERT_TRUE(trust().recalls->logged);
  for (const auto& left : {log.trusted(now - 2 * hour, now - hour), next.trusted(now - hour, now + hour)}) {
    artifact.trust.root.logs = {left};
    ++artifact.trust.root.version;
    fs::remove(directory / "root.json");
    artifact.writeTrust(directory.path());
    const auto refused = fetch("", fetched);
    ASSERT_FALSE(refused);
    expectRecalled(refused.error());
    EXPECT_FALSE(trust().recalls->logged);
  }
  Trust known = trust();
  const auto learnt = known.learn(next.prove(issue(old, {}), artifact.trust.root));
  ASSERT_TRUE(learnt) << learnt.error().message;
  EXPECT_TRUE(known.recalls->logged);
}

// A node that knows nothing yet, and a farm or an export from before the log.
TEST_F(NodeRecallTest, SignedRecallsThatComeAlongApplyWithoutProof) {
  testing_support::SmallLog log("log.example");
  artifact.trust.root.logs = {log.trusted(now - std::chrono::hours(1), now + std::chrono::hours(1))};
  artifact.writeTrust(directory.path());
  ASSERT_TRUE(fetch("", fetched));
  const std::string unproven = issue("", {artifact.farm.artifact});
  ASSERT_TRUE(signing::writeTextFile(fetched + "/recalls.json", unproven));
  const auto opened = openArtifact(fetched, {}, trust(), SystemClock());
  ASSERT_FALSE(opened);
  expectRecalled(opened.error());
  const auto refused = fetch(unproven, directory / "again");
  ASSERT_FALSE(refused);
  expectRecalled(refused.error());
}

TEST_F(NodeRecallTest, WhatTheLogProvedIsNotLiftedWithoutIt) {
  testing_support::SmallLog log("log.example");
  artifact.trust.root.logs = {log.trusted(now - std::chrono::hours(1), now + std::chrono::hours(1))};
  artifact.writeTrust(directory.path());
  const std::string first = issue("", {artifact.farm.artifact});
  Trust known = trust();
  ASSERT_TRUE(known.learn(log.prove(first, artifact.trust.root)));
  signing::Recall lift{signing::RecallKind::kLift, known.recalls->entries[0].id().text(), "no", now};
  const std::string lifted =
      signing::Recalls::issue(&*known.recalls, lift, keys, now, now + std::chrono::days(7), "").value();
  const auto refused = fetch(lifted, fetched);
  ASSERT_FALSE(refused);
  expectRecalled(refused.error());
  const auto logged = fetch(log.prove(lifted, artifact.trust.root), fetched);
  EXPECT_TRUE(logged) << logged.error().message;
}

TEST_F(NodeRecallTest, AnUnprovenListIsTooOldForAPolicyThatAsksForNews) {
  const std::string unproven = issue("", {});
  ASSERT_TRUE(trust().learn(unproven));
  testing_support::SmallLog log("log.example");
  artifact.trust.root.logs = {log.trusted(now - std::chrono::hours(1), now + std::chrono::hours(1))};
  artifact.trust.policy.maxRecallAgeSeconds = 3600;
  artifact.writeTrust(directory.path());
  EXPECT_FALSE(fetch("", fetched));
  const auto proven = fetch(log.prove(unproven, artifact.trust.root), fetched);
  EXPECT_TRUE(proven) << proven.error().message;
}

// A clock that is turned back later does not make the news younger.
TEST_F(NodeRecallTest, TheTimeThatWitnessesStatedIsRememberedByFetchAndOpen) {
  testing_support::WitnessedLog log;
  log.trust(artifact.trust.root);
  artifact.writeTrust(directory.path());
  const TimePoint seen = std::chrono::floor<std::chrono::seconds>(now);
  artifact.ref.bundles = {artifact.farm.put(log.add(artifact.bundle, artifact.farm.key.publicKey(), seen))};
  EXPECT_EQ(trust().latestSeen, TimePoint{});
  const auto fetchedOne = fetch("", fetched);
  ASSERT_TRUE(fetchedOne) << fetchedOne.error().message;
  EXPECT_EQ(trust().latestSeen, seen);
  fs::remove(root + ".state");  // a node that is handed the directory
  EXPECT_EQ(trust().latestSeen, TimePoint{});
  ASSERT_TRUE(openArtifact(fetched, {}, trust(), SystemClock()));
  EXPECT_EQ(trust().latestSeen, seen);
}

TEST_F(NodeRecallTest, TheTimeThatWitnessesOfTheRecallsStatedIsRemembered) {
  testing_support::SmallLog log("log.example");
  const auto witness = signing::Ed25519PrivateKey::create().value();
  artifact.trust.root.logs = {log.trusted(now - std::chrono::hours(1), now + std::chrono::hours(1))};
  artifact.trust.root.witnesses = {{"witness.example", witness.publicKey().der()}};
  artifact.writeTrust(directory.path());
  const TimePoint seen = std::chrono::floor<std::chrono::seconds>(now);
  Json json = Json::parse(log.prove(issue("", {}), artifact.trust.root));
  signing::Note note = signing::parseNote(json["log"]["checkpoint"].get<std::string>()).value();
  note.signatures.push_back(signing::cosign(note, "witness.example", witness, seen).value());
  json["log"]["checkpoint"] = note.toString();
  Trust known = trust();
  const auto learnt = known.learn(json.dump());
  ASSERT_TRUE(learnt) << learnt.error().message;
  EXPECT_EQ(known.latestSeen, seen);
  EXPECT_EQ(trust().latestSeen, seen);
}

TEST_F(NodeRecallTest, WhatIsRecalledIsNotExaminedEither) {
  artifact.ref.recalls = issue("", {artifact.farm.artifact});
  Trust known = trust();
  const auto refused = examineArtifact(artifact.farm.store, artifact.ref, known, SystemClock());
  ASSERT_FALSE(refused);
  expectRecalled(refused.error());
  EXPECT_EQ(trust().recalls->version, 1u) << "remembered";
}

TEST_F(NodeRecallTest, TheTimeThatWitnessesStatedNeverGoesBack) {
  testing_support::WitnessedLog log;
  log.trust(artifact.trust.root);
  const TimePoint seen = std::chrono::floor<std::chrono::seconds>(now);
  artifact.ref.bundles = {artifact.farm.put(log.add(artifact.bundle, artifact.farm.key.publicKey(), seen))};
  Trust known = artifact.trust;
  ASSERT_TRUE(examineArtifact(artifact.farm.store, artifact.ref, known, SystemClock()));
  EXPECT_EQ(known.latestSeen, seen);
  signing::Verdict verdict;
  verdict.passed = true;
  for (const auto& [stated, latest] : {std::pair(-1, 0), std::pair(1, 1), std::pair(0, 1)}) {
    verdict.cosigned = seen + std::chrono::seconds(stated);
    ASSERT_TRUE(known.learn(verdict));
    EXPECT_EQ(known.latestSeen, seen + std::chrono::seconds(latest));
  }
}

TEST_F(NodeRecallTest, CApiRefusesWhatIsRecalled) {
  ASSERT_TRUE(fetch("", fetched));
  const std::string recalls = directory / "recalls.json", policy = directory / "policy.json";
  ASSERT_TRUE(signing::writeTextFile(recalls, issue("", {artifact.farm.artifact})));
  kiln_node* node = nullptr;
  char* message = nullptr;
  EXPECT_EQ(kiln_node_open_with_recalls(fetched.c_str(), nullptr, root.c_str(), policy.c_str(),
                                        recalls.c_str(), &node, &message),
            static_cast<int>(Code::kPermissionDenied));
  ASSERT_NE(message, nullptr);
  EXPECT_NE(std::string(message).find("wrong weights"), std::string::npos) << message;
  kiln_node_free_message(message);
}

}  // namespace
}  // namespace kiln::node
