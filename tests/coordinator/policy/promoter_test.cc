// Promotion: the instance's policy, the farm's own verdicts, and what makes it judge again.
#include "coordinator/policy/promoter.h"

#include "coordinator/recall/recalls.h"
#include "manifest/statement/check_statement.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;

class Promotion : public FarmTest {
 protected:
  Promotion() {
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
    signing::TrustRoot root = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
    root.recallKeys = signing::RecallKeys{{1, {recallKey_.publicKey()}}, 1, 10};
    EXPECT_TRUE(signing::writeTextFile(trustRoot_, root.toJson().dump()));
    one_ = worker("w1");
  }

  signing::Policy policy() const {
    return {
        .name = "test", .allowDevelopment = true, .builderIds = {"*"}, .targets = {"*"}, .toolchains = {"*"}};
  }
  std::string built(const std::string& key, const std::string& model = "a model") {
    v1::Job job = submitted(request(key, 1, model));
    settle(job.id(), {one_.get()});
    job = get(job.id());
    EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
    return job.artifacts(0).digest();
  }
  std::size_t judged(const signing::Policy& policy) {
    const InstancePolicies policies(trustRoot_, {{"default", policy}});
    Promoter promoter(farm_.judging, policies);
    const auto count = promoter.judgeDue();
    EXPECT_TRUE(count) << count.error().message;
    return count.value_or(0);
  }
  // The verdicts among the artifact's statements, as a verifier reads them.
  std::vector<VerificationSummary> verdictsOn(const std::string& digest) {
    std::vector<VerificationSummary> out;
    const v1::Artifact published = artifact(digest);
    for (const auto& bundle : published.bundles()) {
      const auto text = storage::getBlob(*blobs_, "default", *fromProto(bundle), 1 << 20).value();
      const auto parsed = signing::parseBundle(text).value();
      EXPECT_TRUE(signing::verifyEnvelope(parsed.envelope, std::array{key_.publicKey()}));
      const auto statement = parseStatement(parsed.envelope.payload).value();
      if (statement.predicateType == kVsaType)
        out.push_back(VerificationSummary::fromJson(statement.predicate).value());
    }
    return out;
  }
  std::uint64_t signatures() {
    auto rows = pool_.execute("SELECT count(*) AS n FROM signatures").value();
    return *rows.first([](const postgres::Row& row) { return row.get<std::uint64_t>("n"); }).value();
  }
  void recall(signing::RecallKind kind, const std::string& what) {
    const bool lift = kind == signing::RecallKind::kLift;
    const signing::Recall entry{kind, what, "bad", clock_.now(), {}, {}, {}, {}, !lift};
    const auto text = signing::Recalls::issue(recalls_ ? &*recalls_ : nullptr, entry, std::array{recallKey_},
                                              clock_.now(), clock_.now() + std::chrono::days(7), "")
                          .value();
    auto published = putInForce({trustRoot_, nullptr}, text);
    ASSERT_TRUE(published) << published.error().message;
    recalls_ = std::move(*published);
  }

  const std::string trustRoot_ = directory_ / "root.json";
  const signing::PrivateKey recallKey_ = signing::PrivateKey::create().value();
  std::optional<signing::Recalls> recalls_;
  std::unique_ptr<testing_support::FakeWorker> one_;
};

TEST_F(Promotion, APublishedArtifactIsJudgedOnceAndSaysHonestlyByWhom) {
  EXPECT_EQ(judged(policy()), 0u) << "nothing is published";
  const std::string digest = built("k");
  EXPECT_TRUE(verdictsOn(digest).empty());
  EXPECT_EQ(judged(policy()), 1u);
  const auto verdicts = verdictsOn(digest);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_TRUE(verdicts[0].passed());
  EXPECT_EQ(verdicts[0].verifierId, kBuilderId);
  EXPECT_EQ(verdicts[0].resourceUri(), "urn:kiln:artifact:" + digest);
  EXPECT_EQ(verdicts[0].buildLevel, 1) << "a development root";
  EXPECT_EQ(verdicts[0].builders, std::vector<std::string>{"w1 (op)"});
  EXPECT_EQ(verdicts[0].operators, std::vector<std::string>{"op"})
      << "one operator: not reproduced by others";
  EXPECT_EQ(verdicts[0].from.size(), 3u) << "provenance, compile and image statement";
  const std::string text = toCanonicalJson(policy().toJson()).value();
  EXPECT_EQ(verdicts[0].policy.hash, digestOf(text).hash);
  EXPECT_EQ(storage::getBlob(*blobs_, "default", digestOf(text), 1 << 20).value(), text)
      << "the policy can be read";
  const auto signedSoFar = signatures();
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(judged(policy()), 0u);
  EXPECT_EQ(signatures(), signedSoFar) << "nothing new was said";
}

TEST_F(Promotion, AnotherPolicyJudgesAllAgainAndTheLatestVerdictStands) {
  const std::string a = built("a"), b = built("b", "another model");
  EXPECT_EQ(judged(policy()), 2u);
  signing::Policy strict = policy();
  strict.requireCheck = true;
  strict.minBuilders = 2;
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(judged(strict), 2u);
  for (const std::string& digest : {a, b}) {
    const auto verdicts = verdictsOn(digest);
    ASSERT_EQ(verdicts.size(), 1u) << "the earlier one made way";
    EXPECT_EQ(verdicts[0].failed, (std::vector<std::string>{"minBuilders", "requireCheck"}));
    EXPECT_EQ(verdicts[0].timeVerified, clock_.now());
  }
  EXPECT_EQ(judged(strict), 0u);
  EXPECT_EQ(judged(policy()), 2u) << "and back";
  EXPECT_TRUE(verdictsOn(a).at(0).passed());
}

TEST_F(Promotion, ARecallTakesItBackAndLiftingRestores) {
  const std::string a = built("a"), b = built("b", "another model");
  EXPECT_EQ(judged(policy()), 2u);
  recall(signing::RecallKind::kArtifact, a);
  EXPECT_EQ(judged(policy()), 1u) << "only what it touches is judged otherwise";
  EXPECT_EQ(verdictsOn(a).at(0).failed, std::vector<std::string>{"recalls"});
  EXPECT_TRUE(verdictsOn(b).at(0).passed());
  clock_.advance(std::chrono::minutes(1));
  recall(signing::RecallKind::kLift, recalls_->entries[0].id().text());
  EXPECT_EQ(judged(policy()), 1u);
  EXPECT_TRUE(verdictsOn(a).at(0).passed());
  // All evidence gone is no passing verdict either.
  recall(signing::RecallKind::kWorker, "w1");
  EXPECT_EQ(judged(policy()), 2u);
  EXPECT_EQ(verdictsOn(b).at(0).failed, std::vector<std::string>{"signature"});
}

TEST_F(Promotion, KilledBetweenSigningAndTheIndexItSignsTheSame) {
  const std::string digest = built("k");
  EXPECT_EQ(judged(policy()), 1u);
  const auto before = verdictsOn(digest);
  const auto signedSoFar = signatures();
  // As if only the signer had got that far.
  ASSERT_TRUE(pool_.execute("DELETE FROM statements WHERE predicate_type = $1", {std::string(kVsaType)}));
  ASSERT_TRUE(
      pool_.execute("INSERT INTO verdicts_due (instance, artifact_hash, since) SELECT instance, hash, "
                    "published FROM artifacts"));
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(judged(policy()), 1u);
  const auto after = verdictsOn(digest);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].toJson(), before[0].toJson());
  EXPECT_EQ(signatures(), signedSoFar) << "the same statement";
}

TEST_F(Promotion, WhileTheSignerIsAwayItStaysDue) {
  const std::string digest = built("k");
  built("l", "another model");
  const InstancePolicies policies(trustRoot_, {{"default", policy()}});
  Promoter promoter(farm_.judging, policies);
  signer_.away = true;
  signer_.calls = 0;
  EXPECT_EQ(promoter.judgeDue().error().code, Code::kUnavailable);
  EXPECT_EQ(signer_.calls, 1) << "the others are not tried one by one";
  EXPECT_TRUE(verdictsOn(digest).empty());
  signer_.away = false;
  EXPECT_EQ(promoter.judgeDue().value(), 2u) << "at once";
}

TEST_F(Promotion, WhatIsRefusedIsTriedAgainLessAndLessOften) {
  const std::string digest = built("k");
  const InstancePolicies policies(trustRoot_, {{"default", policy()}});
  Promoter promoter(farm_.judging, policies);
  const auto calls = [&] {
    signer_.calls = 0;
    EXPECT_EQ(promoter.judgeDue().value(), 0u);
    return signer_.calls;
  };
  signer_.refusing = true;
  EXPECT_GT(calls(), 0);
  EXPECT_EQ(calls(), 0);
  clock_.advance(std::chrono::seconds(1));
  EXPECT_GT(calls(), 0);
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(calls(), 0) << "the second time it waits for two";
  clock_.advance(std::chrono::seconds(1));
  EXPECT_GT(calls(), 0);
  clock_.advance(-std::chrono::hours(24));
  EXPECT_GT(calls(), 0) << "a clock that is put back holds nothing up";
  signer_.refusing = false;
  EXPECT_EQ(calls(), 0);
  // News do not wait.
  ASSERT_TRUE(pool_.execute("UPDATE verdicts_due SET revision = nextval('revisions')"));
  EXPECT_EQ(promoter.judgeDue().value(), 1u);
  EXPECT_EQ(verdictsOn(digest).size(), 1u);
}

TEST_F(Promotion, ALostLockDoesNotReplaceWhatIsKnownSince) {
  const std::string digest = built("k");
  auto connection = pool_.acquire().value();
  const auto due = index::listDue(*connection, 0, 10).value();
  EXPECT_EQ(due.size(), 0u) << "no policy yet";
  signing::Policy strict = policy();
  strict.requireCheck = true;
  EXPECT_EQ(judged(strict), 1u);
  const index::DueArtifact late{"default", *Digest::parse(digest, 0), clock_.now(), 1};
  const index::BundleRecord bundle{digestOf("PASSED"), digestOf("bundle"), kVsaType, "", clock_.now()};
  const auto stored = pool_.transact([&](postgres::Connection& c) {
    return index::insertVerdict(c, late, bundle, {{digestOf("PASSED").hash, 0}, digestOf("facts"), true});
  });
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_FALSE(*stored);
  EXPECT_FALSE(index::latestVerdict(*connection, "default", late.artifact).value()->passed);
  ASSERT_EQ(verdictsOn(digest).size(), 1u);
  EXPECT_FALSE(verdictsOn(digest)[0].passed());
}

// As while a farm is given another policy, one coordinator after the other.
TEST_F(Promotion, OfTwoCoordinatorsWithDifferentPoliciesTheOneThatStartedLastJudges) {
  const std::string digest = built("k");
  signing::Policy strict = policy();
  strict.requireCheck = true;
  const InstancePolicies before(trustRoot_, {{"default", policy()}}),
      after(trustRoot_, {{"default", strict}});
  Promoter old(farm_.judging, before), other(farm_.judging, before), fresh(farm_.judging, after);
  EXPECT_EQ(old.judgeDue().value(), 1u);
  EXPECT_EQ(other.judgeDue().value(), 0u) << "the same policy";
  EXPECT_EQ(old.judgeDue().value(), 0u) << "likewise";
  EXPECT_EQ(fresh.judgeDue().value(), 1u);
  const auto signedSoFar = signatures();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(old.judgeDue().error().code, Code::kFailedPrecondition);
    EXPECT_EQ(fresh.judgeDue().value(), 0u);
  }
  EXPECT_EQ(signatures(), signedSoFar) << "they take turns and sign each time";
  Promoter again(farm_.judging, before);
  EXPECT_EQ(again.judgeDue().value(), 1u) << "started later than both";
  EXPECT_EQ(old.judgeDue().value(), 0u) << "whose policies these are counts, not whose process it was";
}

TEST_F(Promotion, WithoutAPolicyNothingIsDueOrSigned) {
  const std::string digest = built("k");
  const InstancePolicies none;
  Promoter promoter(farm_.judging, none);
  promoter.start();
  promoter.stop();
  EXPECT_TRUE(verdictsOn(digest).empty());
  EXPECT_FALSE(none.judge(farm_.judging, "default", *Digest::parse(digest, 0), clock_.now()).value());
}

TEST_F(Promotion, TheSignerHoldsTheSummaryAgainstItsRecords) {
  const std::string digest = built("k");
  EXPECT_EQ(judged(policy()), 1u);
  const VerificationSummary honest = verdictsOn(digest).at(0);
  const std::string rules = toCanonicalJson(policy().toJson()).value();
  const auto size = static_cast<std::uint64_t>(artifact(digest).manifest().size_bytes());
  const auto why = [&](const VerificationSummary& summary, const std::string& document) -> std::string {
    const auto bundle =
        localSigner_.sign({"default", verificationStatement(summary).value(), size, {document}});
    return bundle ? "signed" : bundle.error().message;
  };
  const auto contains = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  VerificationSummary forged = honest;
  forged.timeVerified += std::chrono::seconds(1);
  EXPECT_EQ(why(forged, rules), "signed") << "what is true may be said again";
  forged.from.push_back({digestOf("never signed").hash, 0});
  contains(why(forged, rules), "is not in the records");
  forged = honest;
  forged.builders.push_back("w9 (other)");
  forged.operators.push_back("other");
  contains(why(forged, rules), "names builders or operators");
  forged = honest;
  forged.buildLevel = 3;
  contains(why(forged, rules), "more than level 2");
  contains(why(honest, "{}"), "signed");  // the first bundle, again
  forged = honest;
  forged.timeVerified += std::chrono::seconds(2);
  contains(why(forged, "{}"), "another document");
  forged.from.clear();
  contains(why(forged, rules), "names no provenance");
  signing::Policy strict = policy();
  strict.requireCheck = true;
  const std::string strictRules = toCanonicalJson(strict.toJson()).value();
  forged = honest;
  forged.policy = {digestOf(strictRules).hash, 0};
  contains(why(forged, strictRules), "it says PASSED, but requireCheck");
  forged.failed = {"requireCheck"};
  EXPECT_EQ(why(forged, strictRules), "signed");
}

}  // namespace
}  // namespace kiln::service
