// recalls.json: whose signatures it needs, what it touches, what may follow it.
#include "signing/recall/recalls.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/full_root.h"
#include "tests/support/signed_root.h"

namespace kiln::signing {
namespace {

const TimePoint kNow = parseRfc3339("2026-11-20T06:00:00Z").value();

Digest bare(std::string_view text) {
  return {digestOf(text).hash, 0};
}

Recall recallOf(RecallKind kind, const std::string& what, std::vector<Digest> listed, bool whole) {
  std::ranges::sort(listed);
  Recall out{kind, what, "bad", kNow, {}, {}, {}, std::move(listed), whole};
  return out;
}

struct RecallsTest : ::testing::Test {
  std::vector<PrivateKey> keys = testing_support::newKeys(2);
  TrustRoot root = developmentRoot(PrivateKey::create()->publicKey(), "urn:b", kNow);
  RecallsTest() { root.recallKeys = RecallKeys{testing_support::thresholdOf(1, keys), 2, 2}; }

  std::span<const PrivateKey> one() const { return std::span(keys).first(1); }
  Result<Recalls> next(const Recalls* before, const std::optional<Recall>& recall,
                       std::span<const PrivateKey> by) const {
    const auto text = Recalls::issue(before, recall, by, kNow, kNow + std::chrono::days(7), "");
    if (!text) return fail(text.error());
    return Recalls::parse(*text, root);
  }
  // The file of these recalls, all signed by both keys.
  Recalls holding(const std::vector<Recall>& all) const {
    Recalls out = next(nullptr, std::nullopt, keys).value();
    for (const Recall& recall : all) out = next(&out, recall, keys).value();
    return out;
  }
  void expectRefused(const Result<Recalls>& recalls, Code code, const std::string& why) const {
    ASSERT_FALSE(recalls) << why;
    EXPECT_EQ(recalls.error().code, code);
    EXPECT_NE(recalls.error().message.find(why), std::string::npos) << recalls.error().message;
  }
};
struct AttackCases : RecallsTest {};

TEST_F(RecallsTest, KeepsWhatItSays) {
  Recall recall = recallOf(RecallKind::kWorker, "w1", {bare("a"), bare("b")}, true);
  recall.since = kNow - std::chrono::hours(2);
  recall.until = kNow;
  recall.logs = {{"log.example", 3, 9}};
  const Recalls recalls = holding({recall});
  EXPECT_EQ(recalls.version, 2u);
  ASSERT_EQ(recalls.entries.size(), 1u);
  EXPECT_EQ(recalls.entries[0].recall.toJson(), recall.toJson());
  EXPECT_EQ(Recalls::parse(recalls.text, root)->text, recalls.text);
}

TEST_F(RecallsTest, OnlyTheRootsRecallKeysCount) {
  const auto strangers = testing_support::newKeys(2);
  expectRefused(next(nullptr, std::nullopt, strangers), Code::kDataLoss, "signed by 0 of the 1 recall keys");
  const std::string text = holding({}).text;
  root.recallKeys.reset();
  expectRefused(Recalls::parse(text, root), Code::kPermissionDenied, "lets nobody recall");
}

TEST_F(RecallsTest, NothingThatWasSignedCanBeChanged) {
  const auto recall = recallOf(RecallKind::kArtifact, bare("a").text(), {bare("a")}, false);
  const Recalls recalls = next(nullptr, recall, one()).value();
  for (std::size_t i = 0; i < recalls.text.size(); i += 7) {
    std::string bad = recalls.text;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(Recalls::parse(bad, root)) << i;
    EXPECT_FALSE(Recalls::parse(recalls.text.substr(0, i), root)) << i;
  }
}

TEST_F(AttackCases, Case33ARecallBeyondItsScopeNeedsTwoKeys) {
  const std::vector<Digest> many{bare("a"), bare("b"), bare("c")};
  const auto small = recallOf(RecallKind::kToolchain, bare("t").text(), {many[0], many[1]}, false);
  const auto long_ = recallOf(RecallKind::kToolchain, bare("t").text(), many, false);
  const auto whole = recallOf(RecallKind::kOperator, "acme", {}, true);
  EXPECT_TRUE(next(nullptr, small, one()));
  for (const Recall& wide : {long_, whole}) {
    expectRefused(next(nullptr, wide, one()), Code::kDataLoss, "signed by 1 of the 2 recall keys");
    EXPECT_TRUE(next(nullptr, wide, keys));
  }
  // What one key lists and nothing else is touched.
  const Recalls recalls = next(nullptr, small, one()).value();
  EXPECT_NE(recalls.condemns(many[0]), nullptr);
  EXPECT_EQ(recalls.condemns(bare("t")), nullptr) << "not the whole toolchain";
  // Signed twice by one key is signed once.
  const std::vector<PrivateKey> twice{keys[0], keys[0]};
  expectRefused(next(nullptr, whole, twice), Code::kDataLoss, "signed by 1 of the 2");
}

TEST_F(AttackCases, Case33LiftingIsAnotherEntryUnderTheSameControl) {
  const auto whole = recallOf(RecallKind::kToolchain, bare("t").text(), {}, true);
  const Recalls before = holding({whole});
  ASSERT_NE(before.condemns(bare("t")), nullptr);
  Recall lift{RecallKind::kLift, before.entries[0].id().text(), "a false alarm", kNow, {}, {}, {}, {}, false};
  expectRefused(next(&before, lift, one()), Code::kDataLoss, "signed by 1 of the 2");
  const Recalls after = next(&before, lift, keys).value();
  EXPECT_EQ(after.condemns(bare("t")), nullptr);
  EXPECT_EQ(after.entries.size(), 2u) << "both stay on record";
  EXPECT_TRUE(after.extends(before));
  lift.what = bare("unknown").text();
  expectRefused(next(&before, lift, keys), Code::kInvalidArgument, "lifts no recall");
  lift.what = after.entries[1].id().text();
  expectRefused(next(&after, lift, keys), Code::kInvalidArgument, "lifts no recall");
}

TEST_F(AttackCases, Case13ALaterVersionTakesNothingAway) {
  const Recall recall = recallOf(RecallKind::kArtifact, bare("a").text(), {bare("a")}, false);
  const Recalls before = holding({recall}), emptied = holding({});
  EXPECT_FALSE(emptied.extends(before));
  EXPECT_TRUE(before.extends(before));
  const Recall other = recallOf(RecallKind::kArtifact, bare("b").text(), {bare("b")}, false);
  EXPECT_FALSE(holding({other}).extends(before)) << "as many, but another";
  EXPECT_FALSE(holding({other, recall}).extends(holding({recall, other}))) << "the same in another order";
  EXPECT_TRUE(holding({recall, other}).extends(before));
  EXPECT_TRUE(next(&before, std::nullopt, one())->extends(before)) << "news without a recall, by one key";
}

TEST_F(RecallsTest, ContentIsCondemnedByListAndAsAWhole) {
  const Recalls recalls =
      holding({recallOf(RecallKind::kComponent, bare("ptxas").text(), {bare("t1"), bare("t2")}, true),
               recallOf(RecallKind::kWorker, "w1", {bare("statement")}, false)});
  for (const char* touched : {"ptxas", "t1", "t2"})
    EXPECT_NE(recalls.condemns(bare(touched)), nullptr) << touched;
  EXPECT_EQ(recalls.condemns(bare("t3")), nullptr);
  EXPECT_EQ(recalls.condemns(bare("statement")), nullptr) << "evidence, not content";
  EXPECT_EQ(describe(*recalls.condemns(bare("t1"))),
            "recalled on 2026-11-20T06:00:00Z: bad (component " + bare("ptxas").text() + ")");
}

TEST_F(RecallsTest, WindowsAreJudgedByTheLogAndElseByTheStatement) {
  Recall recall = recallOf(RecallKind::kWorker, "w1", {bare("listed")}, true);
  recall.since = kNow;
  recall.until = kNow + std::chrono::hours(1);
  recall.logs = {{"log.example", 10, 20}};
  const Recalls recalls = holding({recall});
  const auto touched = [&](const StatementPlace& place, const char* worker = "w1") {
    return recalls.touchesWorker(place, worker, "acme") != nullptr;
  };
  const TimePoint inside = kNow + std::chrono::minutes(1), after = kNow + std::chrono::hours(1);
  EXPECT_TRUE(touched({bare("x"), inside}));
  EXPECT_FALSE(touched({bare("x"), after}));
  EXPECT_TRUE(touched({bare("x"), kNow})) << "from the first moment";
  EXPECT_TRUE(touched({bare("x"), after - std::chrono::seconds(1)})) << "to the last";
  EXPECT_TRUE(touched({bare("x"), std::nullopt})) << "one that states no time";
  EXPECT_FALSE(recalls.touchesWorker({bare("x"), inside}, "acme", "w1"));
  EXPECT_FALSE(touched({bare("x"), kNow - std::chrono::seconds(1)}));
  EXPECT_TRUE(touched({bare("listed"), after})) << "found when it was issued";
  EXPECT_FALSE(touched({bare("x"), inside}, "w2"));
  EXPECT_FALSE(touched({bare("listed"), inside}, "w2"));
  LogPosition ninth{"log.example", 9, {}}, tenth{"log.example", 10, {}}, other{"other", 10, {}};
  EXPECT_TRUE(touched({bare("x"), inside, &ninth})) << "a range adds to the window and takes nothing out";
  EXPECT_TRUE(touched({bare("x"), after, &tenth})) << "the order, whatever the statement says";
  EXPECT_FALSE(touched({bare("x"), after, &ninth}));
  EXPECT_FALSE(touched({bare("x"), after, &other}));
}

TEST_F(RecallsTest, AWindowMayBeOpenAtEitherEnd) {
  const auto touched = [&](std::optional<TimePoint> since, std::optional<TimePoint> until, TimePoint at) {
    Recall recall = recallOf(RecallKind::kKey, "key-1", {}, true);
    recall.since = since;
    recall.until = until;
    return holding({recall}).touches({bare("x"), at}, "key-1", {}, {}) != nullptr;
  };
  const auto second = std::chrono::seconds(1);
  EXPECT_TRUE(touched({}, {}, kNow));
  EXPECT_FALSE(touched(kNow, {}, kNow - second));
  EXPECT_TRUE(touched(kNow, {}, kNow));
  EXPECT_TRUE(touched(kNow, {}, kNow + std::chrono::days(900)));
  EXPECT_TRUE(touched({}, kNow, TimePoint{}));
  EXPECT_TRUE(touched({}, kNow, kNow - second));
  EXPECT_FALSE(touched({}, kNow, kNow));
}

TEST_F(RecallsTest, ARangeHoldsItsFirstEntryAndNotItsEnd) {
  Recall recall = recallOf(RecallKind::kOperator, "acme", {}, true);
  recall.logs = {{"log.example", 10, 20}, {"other", 5, kRecallWithoutEnd}};
  const Recalls recalls = holding({recall});
  const auto touched = [&](const char* log, std::uint64_t index) {
    const LogPosition place{log, index, {}};
    return recalls.touchesWorker({bare("x"), kNow, &place}, "w1", "acme") != nullptr;
  };
  for (const std::uint64_t index : {9, 20}) EXPECT_FALSE(touched("log.example", index)) << index;
  for (const std::uint64_t index : {10, 19}) EXPECT_TRUE(touched("log.example", index)) << index;
  EXPECT_FALSE(touched("other", 4));
  EXPECT_TRUE(touched("other", 5));
  EXPECT_TRUE(touched("other", 1u << 31));
}

TEST_F(RecallsTest, ARangeWithoutTimesIsTheWholeWindowOfItsLog) {
  Recall recall = recallOf(RecallKind::kWorker, "w1", {}, true);
  recall.logs = {{"log.example", 10, 20}};
  const Recalls recalls = holding({recall});
  const LogPosition ninth{"log.example", 9, {}}, tenth{"log.example", 10, {}}, other{"other", 9, {}};
  EXPECT_EQ(recalls.touchesWorker({bare("x"), kNow, &ninth}, "w1", "acme"), nullptr);
  EXPECT_NE(recalls.touchesWorker({bare("x"), kNow, &tenth}, "w1", "acme"), nullptr);
  EXPECT_NE(recalls.touchesWorker({bare("x"), kNow, &other}, "w1", "acme"), nullptr);
  EXPECT_NE(recalls.touchesWorker({bare("x"), kNow}, "w1", "acme"), nullptr);
}

// By a digest or by a name: which of the two, the kind says.
TEST_F(RecallsTest, ContentAndEvidenceAreToldApart) {
  for (int i = 0; i <= static_cast<int>(RecallKind::kDevice); ++i) {
    const auto kind = static_cast<RecallKind>(i);
    const bool content = kind == RecallKind::kArtifact || kind == RecallKind::kToolchain ||
                         kind == RecallKind::kComponent || kind == RecallKind::kSource ||
                         kind == RecallKind::kRecord;
    EXPECT_EQ(isContentRecall(kind), content) << recallKindName(kind);
    EXPECT_EQ(Recall::fromJson(recallOf(kind, "a name", {}, true).toJson()).has_value(), !content)
        << recallKindName(kind);
    const Recall recall = recallOf(kind, bare("a").text(), {bare("b")}, true);
    ASSERT_TRUE(Recall::fromJson(recall.toJson())) << recallKindName(kind);
    const Recalls recalls = holding({recall});
    EXPECT_EQ(recalls.condemns(bare("a")) != nullptr, content) << recallKindName(kind);
    EXPECT_EQ(recalls.condemns(bare("b")) != nullptr, content) << recallKindName(kind);
    // Nothing is touched as evidence but what is named by its own kind.
    const StatementPlace place{bare("b"), kNow};
    const std::vector<std::string> name{recall.what};
    EXPECT_EQ(recalls.touches(place, name[0], {}, {}) != nullptr, kind == RecallKind::kKey);
    EXPECT_EQ(recalls.touches(place, "", name, {}) != nullptr, kind == RecallKind::kSourceUrl);
    EXPECT_EQ(recalls.touches(place, "", {}, name) != nullptr, kind == RecallKind::kDevice);
    EXPECT_EQ(recalls.touchesWorker(place, name[0], "") != nullptr, kind == RecallKind::kWorker);
    EXPECT_EQ(recalls.touchesWorker(place, "", name[0]) != nullptr, kind == RecallKind::kOperator);
  }
}

TEST_F(RecallsTest, AListOrTheWholeTouchesAndALiftEndsBoth) {
  for (const bool whole : {false, true}) {
    const std::vector<Recall> all{recallOf(RecallKind::kKey, "key-1", {bare("listed")}, whole),
                                  recallOf(RecallKind::kWorker, "w1", {bare("listed")}, whole)};
    Recalls recalls = holding(all);
    for (const char* payload : {"listed", "other"}) {
      const bool expected = whole || payload == std::string("listed");
      EXPECT_EQ(recalls.touches({bare(payload), kNow}, "key-1", {}, {}) != nullptr, expected) << payload;
      EXPECT_EQ(recalls.touchesWorker({bare(payload), kNow}, "w1", "") != nullptr, expected) << payload;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Recall lift{RecallKind::kLift, recalls.entries[i].id().text(), "a false alarm", kNow};
      recalls = next(&recalls, lift, keys).value();
    }
    EXPECT_EQ(recalls.touches({bare("listed"), kNow}, "key-1", {}, {}), nullptr);
    EXPECT_EQ(recalls.touchesWorker({bare("listed"), kNow}, "w1", ""), nullptr);
  }
}

TEST_F(RecallsTest, OneRecallIsThereOnce) {
  const Recall recall = recallOf(RecallKind::kArtifact, bare("a").text(), {bare("a")}, false);
  const Recalls before = holding({recall});
  expectRefused(next(&before, recall, keys), Code::kInvalidArgument, "recalls.entries[1]: is there twice");
  Recall again = recall;
  again.issuedOn += std::chrono::seconds(1);
  EXPECT_TRUE(next(&before, again, keys));
}

TEST_F(RecallsTest, KeysSourcesAndDevicesTouchStatements) {
  const Recalls recalls = holding({recallOf(RecallKind::kKey, "key-1", {}, true),
                                   recallOf(RecallKind::kSourceUrl, "git+https://host/repo", {}, true),
                                   recallOf(RecallKind::kDevice, "Broken GPU", {}, true)});
  const StatementPlace place{bare("x"), kNow};
  const auto touched = [&](const std::string& key, std::vector<std::string> uris,
                           std::vector<std::string> devices) {
    return recalls.touches(place, key, uris, devices) != nullptr;
  };
  EXPECT_TRUE(touched("key-1", {}, {}));
  EXPECT_FALSE(touched("key-2", {}, {}));
  EXPECT_TRUE(touched("", {"git+https://host/repo@0123#m.onnx"}, {}));
  EXPECT_TRUE(touched("", {"git+https://host/repo"}, {}));
  EXPECT_FALSE(touched("", {"git+https://host/repository@0123"}, {}));
  EXPECT_TRUE(touched("", {}, {"Broken GPU"}));
  EXPECT_FALSE(touched("", {}, {"Broken GPU 2"}));
}

// What may be signed can be proven, too: the limit of the file leaves room for the proofs of every entry.
TEST_F(RecallsTest, TheProofsOfAllThatItCanHoldFitBesideIt) {
  const auto documentOf = [&](std::size_t count, const std::string& reason) {
    Json entries = Json::array();
    for (std::size_t i = 0; i < count; ++i) {
      Recall recall = recallOf(RecallKind::kWorker, "w" + std::to_string(i), {bare("a")}, false);
      recall.reason = reason;
      const std::string payload = toCanonicalJson(recall.toJson()).value();
      entries.push_back(signEnvelope(kRecallPayload, payload, keys[0])->toJson());
    }
    Json document = parseJson(holding({}).payload).value();
    document["entries"] = std::move(entries);
    return signEnvelope(kRecallsPayload, toCanonicalJson(document).value(), keys[0])->toJson().dump();
  };
  const std::size_t most = 4096;
  const std::string text = documentOf(most, "bad");
  ASSERT_TRUE(Recalls::parse(text, root));
  RecallLog log;
  log.entries.resize(most, {1u << 31, keys[0].publicKey().id(), std::string(72, 'x'), {32, TreeHash{}}});
  const auto proven = Recalls::parse(Recalls::prove(text, log).value(), root);
  ASSERT_TRUE(proven) << proven.error().message;
  EXPECT_EQ(proven->entries.size(), most);
  EXPECT_FALSE(Recalls::parse(documentOf(most, std::string(1000, 'x')), root)) << "too long to be signed";
}

TEST_F(RecallsTest, RefusesEveryDamageToTheDocument) {
  const Json good = parseJson(holding({}).payload).value();
  const auto signedAs = [&](const Json& document) {
    return signEnvelope(kRecallsPayload, toCanonicalJson(document).value(), keys[0])->toJson().dump();
  };
  ASSERT_TRUE(Recalls::parse(signedAs(good), root));
  const std::string hourLater = rfc3339(kNow + std::chrono::hours(1));
  using Damage = std::function<void(Json&)>;
  const std::pair<const char*, Damage> cases[] = {
      {"recalls.apiVersion", [](Json& j) { j["apiVersion"] = "kiln/v2"; }},
      {"recalls.kind", [](Json& j) { j["kind"] = "Recall"; }},
      {"recalls.version", [](Json& j) { j["version"] = 0; }},
      {"recalls.version", [](Json& j) { j["version"] = "1"; }},
      {"recalls.issuedOn", [](Json& j) { j["issuedOn"] = "now"; }},
      {"recalls.expires", [](Json& j) { j["expires"] = "never"; }},
      {"recalls.expires", [](Json& j) { j["expires"] = j["issuedOn"]; }},
      {"recalls.expires", [&](Json& j) { j["expires"] = j["issuedOn"], j["issuedOn"] = hourLater; }},
      {"recalls.checkpoint", [](Json& j) { j.erase("checkpoint"); }},
      {"recalls.entries", [](Json& j) { j["entries"] = Json::object(); }},
      {"recalls.entries", [](Json& j) { j["entries"] = std::vector<int>(4097); }},
      {"recalls.entries[0]", [](Json& j) { j["entries"] = std::vector<int>(4096); }},
      {"recalls.more", [](Json& j) { j["more"] = 1; }},
  };
  for (const auto& [place, damage] : cases) {
    Json json = good;
    damage(json);
    const auto parsed = Recalls::parse(signedAs(json), root);
    ASSERT_FALSE(parsed) << place;
    EXPECT_EQ(parsed.error().message.substr(0, parsed.error().message.find(": ")), place)
        << parsed.error().message;
  }
  Json soon = good;
  soon["expires"] = rfc3339(kNow + std::chrono::seconds(1));
  EXPECT_TRUE(Recalls::parse(signedAs(soon), root));
}

TEST_F(RecallsTest, OnlyADraftIsSignedOnceMore) {
  root.recallKeys = RecallKeys{testing_support::thresholdOf(2, keys), 2, 2};
  const std::string draft =
      Recalls::issue(nullptr, std::nullopt, one(), kNow, kNow + std::chrono::days(7), "").value();
  EXPECT_FALSE(Recalls::parse(draft, root));
  const auto done = Recalls::cosign(draft, std::span(keys).subspan(1));
  ASSERT_TRUE(done) << "a version without a recall needs but one round";
  EXPECT_TRUE(Recalls::parse(*done, root));
  for (const char* payload :
       {"[]", "{}", "1", R"({"entries":{}})", R"({"entries":"x"})", R"({"entries":[1]})"}) {
    const auto refused =
        Recalls::cosign(signEnvelope(kRecallsPayload, payload, keys[0])->toJson().dump(), keys);
    ASSERT_FALSE(refused) << payload;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << refused.error().message;
  }
}

TEST_F(RecallsTest, WhatIsNoRecallIsNotSigned) {
  const Recall nothing = recallOf(RecallKind::kWorker, "w1", {}, false);
  expectRefused(next(nullptr, nothing, keys), Code::kInvalidArgument, "recall.listed");
}

TEST_F(RecallsTest, ListsAndTextsHaveTheirLimits) {
  const auto read = [](const Recall& recall) { return Recall::fromJson(recall.toJson()); };
  Recall recall = recallOf(RecallKind::kWorker, "w1", {}, true);
  for (const std::size_t size : {0u, 1u, 1000u, 1001u}) {
    recall.reason = std::string(size, 'x');
    EXPECT_EQ(read(recall).has_value(), size == 1 || size == 1000) << size;
  }
  recall.reason = "bad";
  for (const std::size_t size : {0u, 1u, 2048u, 2049u}) {
    recall.what = std::string(size, 'x');
    EXPECT_EQ(read(recall).has_value(), size == 1 || size == 2048) << size;
  }
  recall.what = "w1";
  recall.listed.resize(kMaxRecallListed);
  for (std::size_t i = 0; i < recall.listed.size(); ++i) {
    recall.listed[i].hash[0] = static_cast<std::uint8_t>(i >> 8);
    recall.listed[i].hash[1] = static_cast<std::uint8_t>(i);
  }
  const auto longest = read(recall);
  ASSERT_TRUE(longest) << longest.error().message;
  EXPECT_EQ(longest->listed, recall.listed);
  recall.listed.push_back(recall.listed.back());
  recall.listed.back().hash[2] = 1;
  EXPECT_EQ(read(recall).error().message, "recall.listed: must hold at most 50000 digests");
}

TEST_F(RecallsTest, RefusesEveryDamage) {
  Recall good = recallOf(RecallKind::kWorker, "w1", {bare("a")}, true);
  good.since = kNow;
  good.until = kNow + std::chrono::hours(1);
  good.logs = {{"log.example", 1, 2}};
  ASSERT_TRUE(Recall::fromJson(good.toJson()));
  using Damage = std::function<void(Json&)>;
  const std::pair<const char*, Damage> cases[] = {
      {"recall.recalls", [](Json& j) { j["recalls"] = "everything"; }},
      {"recall.what", [](Json& j) { j["what"] = ""; }},
      {"recall.what", [](Json& j) { j["recalls"] = "artifact"; }},
      {"recall.reason", [](Json& j) { j["reason"] = ""; }},
      {"recall.issuedOn", [](Json& j) { j["issuedOn"] = "now"; }},
      {"recall.until", [](Json& j) { j["until"] = j["since"]; }},
      {"recall.listed", [](Json& j) { j["listed"].push_back(j["listed"][0]); }},
      {"recall.listed", [](Json& j) { j["listed"] = {"a"}; }},
      {"recall.listed",
       [](Json& j) { j["listed"] = {"sha256:" + std::string(64, '2'), "sha256:" + std::string(64, '1')}; }},
      {"recall.listed", [](Json& j) { j["listed"] = {std::string(64, '1')}; }},
      {"recall.since", [](Json& j) { j["since"] = "then"; }},
      {"recall.until", [](Json& j) { std::swap(j["since"], j["until"]); }},
      {"recall.logs.from", [](Json& j) { j["logs"][0]["from"] = "-1"; }},
      {"recall.logs.to", [](Json& j) { j["logs"][0]["from"] = "3"; }},
      {"recall.logs.more", [](Json& j) { j["logs"][0]["more"] = 1; }},
      {"recall.listed", [](Json& j) { j["listed"] = Json::array(), j["whole"] = false; }},
      {"recall.logs.to", [](Json& j) { j["logs"][0]["to"] = "1"; }},
      {"recall.more", [](Json& j) { j["more"] = 1; }},
  };
  for (const auto& [place, damage] : cases) {
    Json json = good.toJson();
    damage(json);
    const auto parsed = Recall::fromJson(json);
    ASSERT_FALSE(parsed) << place;
    EXPECT_EQ(parsed.error().message.substr(0, parsed.error().message.find(": ")), place)
        << parsed.error().message;
  }
}

}  // namespace
}  // namespace kiln::signing
