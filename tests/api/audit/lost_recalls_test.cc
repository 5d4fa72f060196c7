// Rows of recalls that are gone lift nothing: the log holds what was recalled, and the farm, its auditors and
// its clients look there.
#include <array>

#include "coordinator/recall/logged_recalls.h"
#include "coordinator/recall/recalls.h"
#include "manifest/base/durable_file.h"
#include "tests/api/audit/logged_farm.h"

namespace kiln::audit {
namespace {

using namespace testing;

class LostRecalls : public LoggedFarm {
 protected:
  void SetUp() override {
    root_.recallKeys = signing::RecallKeys{{1, {recallKey_.publicKey()}}, 1, 10};
    writeRoot();
    AuditedFarm::SetUp();
    farm_.recalls.logged = std::make_shared<service::LoggedRecalls>(tiles_, trustRoot_);
  }
  void writeRoot() { ASSERT_TRUE(replaceFile(trustRoot_, root_.toJson().dump())); }

  std::string next(signing::RecallKind kind, const std::string& what, const std::string& reason = "bad") {
    const bool lift = kind == signing::RecallKind::kLift;
    const signing::Recall news{kind, what, reason, clock_.now(), {}, {}, {}, {}, !lift};
    return signing::Recalls::issue(current_ ? &*current_ : nullptr, news, std::array{recallKey_},
                                   clock_.now(), clock_.now() + std::chrono::hours(1000), "")
        .value();
  }
  auto parsed(const std::string& document) const {
    return signing::Recalls::parse(document, root_, signing::LogProofs::kIfAny);
  }
  void recall(signing::RecallKind kind, const std::string& what) {
    auto published = publish(next(kind, what));
    ASSERT_TRUE(published) << published.error().message;
    current_ = std::move(*published);
  }
  // What the farm says to a submission of the first model that the cache cannot answer.
  grpc::Status asked(const std::string& key) {
    v1::Job job;
    return submit(request(key, 1, "a model of " + key), &job);
  }
  bool finds(FindingKind kind) {
    const auto findings = audited(100);
    return std::ranges::any_of(
        findings, [&](const Finding& finding) { return finding.kind == kind && finding.table == "recalls"; });
  }

  const signing::PrivateKey recallKey_ = signing::PrivateKey::create().value();
  std::optional<signing::Recalls> current_;
};

TEST_F(LostRecalls, StopSubmissionsPublicationsAndAreFound) {
  recall(signing::RecallKind::kArtifact, first_);
  ASSERT_TRUE(audited().empty());
  const v1::Job waiting = submitted(request("waiting", 1, "a third model"));
  run("CREATE TABLE kept AS SELECT * FROM recalls; DELETE FROM recalls");

  EXPECT_EQ(asked("k").error_code(), grpc::StatusCode::UNAVAILABLE) << asked("k").error_message();
  EXPECT_NE(asked("k").error_message().find("the log holds 1 recall"), std::string::npos);
  // One run at a time, since another worker is idle.
  for (int runs = 0; runs < 2; ++runs)
    for (const v1::Lease& lease : one_->poll()) ASSERT_TRUE(one_->synchronize({one_->run(lease).value()}));
  const Status published = advance(waiting.id());
  EXPECT_EQ(published ? Code::kUnknown : published.error().code, Code::kUnavailable) << "it waits";
  EXPECT_NE(get(waiting.id()).state(), v1::JOB_SUCCEEDED);
  EXPECT_TRUE(finds(FindingKind::kMissingStatement));

  run("INSERT INTO recalls SELECT * FROM kept; DROP TABLE kept");
  EXPECT_TRUE(asked("k").ok());
  settle(waiting.id(), {one_.get()});
  EXPECT_EQ(get(waiting.id()).state(), v1::JOB_SUCCEEDED) << "nothing was lost";
  EXPECT_TRUE(audited().empty());
}

TEST_F(LostRecalls, AreFoundByACoordinatorThatStartsAgain) {
  recall(signing::RecallKind::kArtifact, first_);
  run("DELETE FROM recalls");
  farm_.recalls.logged = std::make_shared<service::LoggedRecalls>(tiles_, trustRoot_);
  const auto inForce = service::recallsInForce(farm_.recalls);
  ASSERT_FALSE(inForce);
  EXPECT_EQ(inForce.error().code, Code::kUnavailable) << inForce.error().message;
  EXPECT_TRUE(service::recallsToServe(farm_.recalls, {})) << "clients are told what there is";
}

TEST_F(LostRecalls, AVersionBeforeIsNoBetter) {
  recall(signing::RecallKind::kWorker, "w7");
  recall(signing::RecallKind::kArtifact, first_);
  ASSERT_TRUE(asked("k1").ok());
  run("DELETE FROM recalls WHERE version = 2");
  EXPECT_EQ(asked("k2").error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(finds(FindingKind::kMissingStatement));
  run("UPDATE recalls SET version = 2");
  EXPECT_FALSE(asked("k3").ok()) << "the document says that it is version 1";
}

// Whoever keeps recalls.json publishes it again: the log has it already.
TEST_F(LostRecalls, ComeBackWithTheFileAndNoVersionWithoutThemFollows) {
  recall(signing::RecallKind::kArtifact, first_);
  const std::string document = current_->text;
  const auto lost = std::move(current_);
  run("DELETE FROM recalls");
  const auto without = putInForce({trustRoot_, &recallLogger_}, next(signing::RecallKind::kWorker, "w7"));
  ASSERT_FALSE(without) << "a first version anew";
  EXPECT_EQ(without.error().code, Code::kDataLoss) << without.error().message;
  const auto again = putInForce({trustRoot_, &recallLogger_}, document);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->payload, lost->payload);
}

// Two farms that went on from one backup, or one that went back to before a recall: its own log agrees with
// it.
TEST_F(LostRecalls, ThatTheAuditorKnowsAreMissed) {
  recall(signing::RecallKind::kArtifact, first_);
  const signing::Recalls once = *current_;
  recall(signing::RecallKind::kWorker, "w7");
  const signing::Recalls twice = *current_;
  const auto later = parsed(next(signing::RecallKind::kWorker, "w8"));
  const auto other = [&] {
    current_ = once;
    return parsed(next(signing::RecallKind::kWorker, "w9"));
  }();
  ASSERT_TRUE(later && other);
  for (const signing::Recalls* known : {&once, &twice}) {
    options_.recalls = known;
    EXPECT_TRUE(audited().empty());
  }
  options_.recalls = &*later;
  EXPECT_TRUE(finds(FindingKind::kMissingStatement));
  options_.recalls = &*other;
  EXPECT_TRUE(finds(FindingKind::kTamperedRow));
}

TEST_F(LostRecalls, ThatTheAuditorKnowsAreMissedWhereTheFarmHasNone) {
  const auto known = parsed(next(signing::RecallKind::kArtifact, first_));
  ASSERT_TRUE(known);
  EXPECT_TRUE(audited().empty());
  options_.recalls = &*known;
  EXPECT_TRUE(finds(FindingKind::kMissingStatement));
}

// What keys said that the root does not list any more is gone.
TEST_F(LostRecalls, OfOtherKeysThanTheRootsAreNone) {
  recall(signing::RecallKind::kArtifact, first_);
  run("DELETE FROM recalls");
  EXPECT_FALSE(asked("k1").ok());
  root_.recallKeys = signing::RecallKeys{{1, {signing::PrivateKey::create().value().publicKey()}}, 1, 10};
  writeRoot();
  EXPECT_TRUE(asked("k2").ok());
  EXPECT_TRUE(audited().empty());
}

}  // namespace
}  // namespace kiln::audit
