// Recalls in a log: what proves that it holds them, and what does not.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/signed_root.h"
#include "tests/support/small_log.h"

namespace kiln::signing {
namespace {

using testing_support::SmallLog;

const TimePoint kNow = parseRfc3339("2026-11-20T06:00:00Z").value();
constexpr std::chrono::hours kDay{24};

struct RecallLogTest : ::testing::Test {
  std::vector<PrivateKey> keys = testing_support::newKeys(2);
  SmallLog log{"log.example"}, other{"other.example"};
  TrustRoot root = developmentRoot(PrivateKey::create()->publicKey(), "urn:b", kNow);

  RecallLogTest() {
    root.recallKeys = RecallKeys{testing_support::thresholdOf(1, keys), 2, 2};
    root.logs = {log.trusted(kNow - kDay, kNow + kDay)};
    for (int i = 0; i < 5; ++i) log.add("leaf " + std::to_string(i));
  }
  std::string issue(const Recalls* before, const std::string& what, const std::string& checkpoint = "",
                    TimePoint when = kNow) const {
    Recall recall{RecallKind::kToolchain, digestOf(what).text(), "bad", when, {}, {}, {}, {}, true};
    return Recalls::issue(before, recall, keys, when, when + kDay, checkpoint).value();
  }
  Recalls logged(const std::string& text) { return Recalls::parse(log.prove(text, root), root).value(); }
  void expectRefused(const std::string& text, Code code, const std::string& why) const {
    const auto parsed = Recalls::parse(text, root);
    ASSERT_FALSE(parsed) << why;
    EXPECT_EQ(parsed.error().code, code);
    EXPECT_NE(parsed.error().message.find(why), std::string::npos) << parsed.error().message;
    const auto read = Recalls::parse(text, root, LogProofs::kIfAny);
    if (code != Code::kPermissionDenied) {
      EXPECT_FALSE(read) << "a proof that is there must hold";
      return;
    }
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_FALSE(read->logged) << "of no log of the root: as good as none";
    EXPECT_TRUE(read->seen.empty());
  }
};
struct AttackCases : RecallLogTest {};

TEST_F(RecallLogTest, EachEntryIsProvenUnderOneCheckpoint) {
  const Recalls first = logged(issue(nullptr, "a", log.checkpoint(5).toString()));
  EXPECT_TRUE(first.logged);
  ASSERT_EQ(first.seen.size(), 2u);
  EXPECT_EQ(first.seen[0].size, 6u);
  log.add("something else");
  const Recalls second = logged(issue(&first, "b"));
  EXPECT_TRUE(second.logged);
  EXPECT_EQ(second.seen[0].size, 8u);
  EXPECT_TRUE(second.continuesLogs(first));
  EXPECT_EQ(Recalls::parse(second.text, root)->text, second.text);
}

TEST_F(RecallLogTest, WithoutProofItAppliesWhereItIsRememberedAndIsNoNews) {
  const std::string text = issue(nullptr, "a");
  const auto refused = Recalls::parse(text, root);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  const Recalls old = Recalls::parse(text, root, LogProofs::kIfAny).value();
  EXPECT_FALSE(old.logged);
  EXPECT_NE(old.condemns({digestOf("a").hash, 0}), nullptr);
  TrustRoot without = root;
  without.logs.clear();
  EXPECT_TRUE(Recalls::parse(text, without)) << "a root without a log asks for no proof";
  EXPECT_FALSE(Recalls::parse(log.prove(text, root), without)->logged);
}

TEST_F(RecallLogTest, WhatWasChangedProvesNothing) {
  const std::string good = log.prove(issue(nullptr, "a", log.checkpoint(5).toString()), root);
  using Damage = std::function<void(Json&)>;
  const std::pair<const char*, Damage> cases[] = {
      {"recalls.log.entries", [](Json& j) { j["entries"] = Json::array(); }},
      {"recalls.log.entries", [](Json& j) { j["entries"].push_back(j["entries"][0]); }},
      {"recalls.log.entries[0]", [](Json& j) { j["entries"][0]["index"] = "4"; }},
      {"recalls.log.entries[0]", [](Json& j) { j["entries"][0]["index"] = "6"; }},
      {"recalls.log.entries[0]", [](Json& j) { j["entries"][0]["hashes"].erase(0); }},
      {"recalls.log.entries[0]", [](Json& j) { j["entries"][0]["keyid"] = "another"; }},
      {"recalls.log.entries[0]", [](Json& j) { j["entries"][0]["sig"] = "AAAA"; }},
      {"recalls.log.entries[0].index", [](Json& j) { j["entries"][0]["index"] = "five"; }},
      {"recalls.log.more", [](Json& j) { j["more"] = 1; }},
      {"signed note", [](Json& j) { j["checkpoint"] = ""; }},
  };
  for (const auto& [place, damage] : cases) {
    Json json = parseJson(good).value();
    damage(json["log"]);
    const auto parsed = Recalls::parse(json.dump(), root);
    ASSERT_FALSE(parsed) << place;
    EXPECT_EQ(parsed.error().message.substr(0, parsed.error().message.find(": ")), place)
        << parsed.error().message;
  }
}

TEST_F(RecallLogTest, ProofsHaveTheirLimits) {
  const auto read = [](std::size_t checkpoint, std::size_t signature, std::size_t hashes) {
    RecallLog proofs{
        std::string(checkpoint, 'c'),
        {{7, "key", std::string(signature, 's'), std::vector<TreeHash>(hashes, TreeHash{1, 2, 3})}}};
    const auto parsed = RecallLog::fromJson(proofs.toJson());
    if (!parsed) return parsed.error().message;
    EXPECT_EQ(parsed->toJson(), proofs.toJson());
    return std::string();
  };
  EXPECT_EQ(read(0, 1, 0), "");
  EXPECT_EQ(read(64 << 10, 256, 64), "");
  EXPECT_EQ(read((64 << 10) + 1, 256, 64), "recalls.log.checkpoint: must be at most 64 KiB");
  EXPECT_EQ(read(64 << 10, 257, 64), "recalls.log.entries[0].sig: is no ECDSA signature");
  EXPECT_EQ(read(64 << 10, 256, 65), "recalls.log.entries[0].hashes: must be at most 64 hashes");
  Json json = RecallLog{"", {{7, "key", "s", {TreeHash{}}}}}.toJson();
  for (const char* hash : {"", "AAAA", "no base64"}) {
    json["entries"][0]["hashes"][0] = hash;
    EXPECT_FALSE(RecallLog::fromJson(json)) << hash;
  }
}

// What a client remembers, so that a clock that is turned back does not make the news younger. It is kept for
// good: one witness whose clock is years ahead must not end every root.
TEST_F(RecallLogTest, TheLatestTimeOfWhichNoWitnessStatesAnEarlierOneIsKept) {
  const auto first = Ed25519PrivateKey::create().value(), second = Ed25519PrivateKey::create().value();
  root.witnesses = {{"first.example", first.publicKey().der()}, {"second.example", second.publicKey().der()}};
  const auto cosigned = [&](const std::string& note, TimePoint by, TimePoint byTheOther) {
    Note seen = parseNote(note).value();
    seen.signatures.push_back(cosign(seen, "first.example", first, by).value());
    seen.signatures.push_back(cosign(seen, "second.example", second, byTheOther).value());
    return seen.toString();
  };
  const auto hours = [](int count) { return kNow + std::chrono::hours(count); };
  Json json = parseJson(log.prove(issue(nullptr, "a"), root)).value();
  EXPECT_EQ(Recalls::parse(json.dump(), root)->cosigned, TimePoint{}) << "nobody cosigned it";
  const std::string covering = json["log"]["checkpoint"].get<std::string>();
  json["log"]["checkpoint"] = cosigned(covering, hours(2), hours(1));
  EXPECT_EQ(Recalls::parse(json.dump(), root)->cosigned, hours(1));

  const std::string named = cosigned(log.checkpoint(5).toString(), hours(3), hours(4));
  json = parseJson(log.prove(issue(nullptr, "b", named), root)).value();
  EXPECT_EQ(Recalls::parse(json.dump(), root)->cosigned, hours(3)) << "the checkpoint that the issuers named";
  json["log"]["checkpoint"] = cosigned(json["log"]["checkpoint"].get<std::string>(), hours(5), hours(90000));
  EXPECT_EQ(Recalls::parse(json.dump(), root)->cosigned, hours(5));
}

TEST_F(AttackCases, Case16AProofForAnotherEntryIsRefused) {
  const std::string both = [&] {
    const Recalls first = logged(issue(nullptr, "a"));
    return log.prove(issue(&first, "b"), root);
  }();
  Json json = parseJson(both).value();
  std::swap(json["log"]["entries"][0], json["log"]["entries"][1]);
  expectRefused(json.dump(), Code::kDataLoss, "recalls.log.entries[0]");
  json["log"]["entries"][1] = json["log"]["entries"][0];
  expectRefused(json.dump(), Code::kDataLoss, "recalls.log.entries[0]");
}

TEST_F(RecallLogTest, OnlyTheRootsLogsCount) {
  const std::string text = issue(nullptr, "a");
  expectRefused(other.prove(text, root), Code::kPermissionDenied, "a log that the trust root does not list");
  SmallLog impostor("log.example");
  expectRefused(impostor.prove(text, root), Code::kPermissionDenied, "does not list");
  root.logs = {log.trusted(kNow - 2 * kDay, kNow - kDay)};
  expectRefused(log.prove(text, root), Code::kPermissionDenied, "not valid then");
}

TEST_F(RecallLogTest, ANewLogKeyMayProveWhatWasIssuedBefore) {
  const std::string text = issue(nullptr, "a");
  root.logs = {log.trusted(kNow + kDay, kNow + 2 * kDay)};
  EXPECT_TRUE(Recalls::parse(log.prove(text, root), root)) << "the farm that brings old recalls forward";
}

TEST_F(AttackCases, Case15TheLogOfRecallsDoesNotGoBack) {
  const std::string named = log.checkpoint(5).toString();
  for (int i = 0; i < 3; ++i) log.add("more " + std::to_string(i));
  const Recalls before = logged(issue(nullptr, "a", log.checkpoint(8).toString()));
  SmallLog shorter("log.example");
  TrustRoot both = root;
  both.logs.push_back(shorter.trusted(kNow - kDay, kNow + kDay));
  const auto truncated = Recalls::parse(shorter.prove(issue(&before, "b"), both), both).value();
  const auto back = truncated.continuesLogs(before);
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().message.find("was seen before"), std::string::npos) << back.error().message;
  // The proofs may not end before what the issuers had seen.
  const auto behind = Recalls::parse(shorter.prove(issue(nullptr, "b", named), both), both);
  ASSERT_FALSE(behind);
  EXPECT_NE(behind.error().message.find("older than the one"), std::string::npos) << behind.error().message;
}

TEST_F(RecallLogTest, AnotherLogStartsAnew) {
  const Recalls before = logged(issue(nullptr, "a"));
  SmallLog shorter("next.example");
  root.logs.push_back(shorter.trusted(kNow - kDay, kNow + kDay));
  const Recalls after = Recalls::parse(shorter.prove(issue(&before, "b"), root), root).value();
  EXPECT_LT(after.seen[0].size, before.seen[0].size);
  EXPECT_TRUE(after.continuesLogs(before));
}

TEST_F(AttackCases, Case14TwoCheckpointsOfOneSizeAreASplitView) {
  const Recalls before = logged(issue(nullptr, "a"));
  SmallLog fork("log.example");
  for (int i = 0; i < 5; ++i) fork.add("another leaf " + std::to_string(i));
  root.logs.push_back(fork.trusted(kNow - kDay, kNow + kDay));
  const Recalls split = Recalls::parse(fork.prove(issue(nullptr, "a"), root), root).value();
  const auto refused = split.continuesLogs(before);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("contradict each other"), std::string::npos);
}

TEST_F(RecallLogTest, HoldersWhoMeetNowhereCompleteADraftInTurns) {
  root.logs.clear();
  root.recallKeys = RecallKeys{testing_support::thresholdOf(2, keys), 2, 2};
  const auto by = [&](int key) { return std::span(keys).subspan(static_cast<std::size_t>(key), 1); };
  const Recall recall{RecallKind::kOperator, "acme", "bad", kNow, {}, {}, {}, {}, true};
  std::string draft = Recalls::issue(nullptr, recall, by(0), kNow, kNow + kDay, "").value();
  EXPECT_FALSE(Recalls::parse(draft, root));
  draft = Recalls::cosign(draft, by(1)).value();
  EXPECT_FALSE(Recalls::parse(draft, root)) << "the entry is complete, the document is not";
  draft = Recalls::cosign(draft, by(1)).value();
  EXPECT_FALSE(Recalls::parse(draft, root)) << "nobody signs twice";
  draft = Recalls::cosign(draft, by(0)).value();
  EXPECT_TRUE(Recalls::parse(draft, root));
}

}  // namespace
}  // namespace kiln::signing
