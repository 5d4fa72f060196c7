// Executed results prove themselves to every client who asks for them, though what held is remembered.
#include "coordinator/recall/recalls.h"
#include "signing/keys/files.h"
#include "signing/trust/trust_root.h"
#include "tests/coordinator/drivers/execution_fixture.h"

namespace kiln::service::testing {
namespace {

class ExecutedProof : public ExecutionTest {
 protected:
  ExecutedProof() {
    signing::TrustRoot root = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
    root.recallKeys = signing::RecallKeys{{1, {recallKey_.publicKey()}}, 1, 10};
    EXPECT_TRUE(signing::writeTextFile(trustRoot_, root.toJson().dump()));
    EXPECT_FALSE(responseOf(run(action_, leaving("made"))).cached_result());
    EXPECT_TRUE(isHit());
  }
  bool isHit() {
    const auto found = results_.find("default", action_);
    EXPECT_TRUE(found) << found.error().message;
    return found && found->has_value();
  }
  void recall(signing::RecallKind kind, const std::string& what) {
    const bool lift = kind == signing::RecallKind::kLift;
    const signing::Recall news{kind, what, "bad", clock_.now(), {}, {}, {}, {}, !lift};
    const auto text = signing::Recalls::issue(current_ ? &*current_ : nullptr, news, std::array{recallKey_},
                                              clock_.now(), clock_.now() + std::chrono::days(7), "");
    auto published = putInForce({trustRoot_}, text.value());
    ASSERT_TRUE(published) << published.error().message;
    current_ = std::move(*published);
  }

  const std::string trustRoot_ = directory_ / "recall-root.json";
  const signing::PrivateKey recallKey_ = signing::PrivateKey::create().value();
  std::optional<signing::Recalls> current_;
  const Digest action_ = putAction("a");
};

TEST_F(ExecutedProof, NoRecalledWorkersResultAnswers) {
  recall(signing::RecallKind::kWorker, "w1");
  EXPECT_FALSE(isHit());
  recall(signing::RecallKind::kLift, current_->entries.back().id().text());
  EXPECT_TRUE(isHit());
}

TEST_F(ExecutedProof, NoResultAnswersLongerThanItsCertificateLasts) {
  clock_.advance(std::chrono::days(364));
  EXPECT_TRUE(isHit());
  clock_.advance(std::chrono::days(2));
  EXPECT_FALSE(isHit());
}

TEST_F(ExecutedProof, NoResultAnswersWhoseRowWasChanged) {
  for (const std::string& change :
       {std::string("worker = 'w2'"), std::string("operator = 'other'"), std::string("epoch = epoch + 1"),
        std::string("result = (SELECT result FROM action_results LIMIT 1) || '\\x1a00'::bytea"),
        std::string("receipt = 'none'"), std::string("certificate = 'none'")}) {
    auto connection = pool_.acquire().value();
    ASSERT_TRUE(connection->executeScript("CREATE TABLE kept AS SELECT * FROM action_results")) << change;
    ASSERT_TRUE(connection->executeScript(
        "SET session_replication_role = replica; UPDATE action_results SET " + change));
    EXPECT_FALSE(isHit()) << change;
    ASSERT_TRUE(connection->executeScript(
        "DELETE FROM action_results; INSERT INTO action_results SELECT * FROM kept; DROP TABLE kept; SET "
        "session_replication_role = origin"));
    EXPECT_TRUE(isHit()) << change;
  }
}

}  // namespace
}  // namespace kiln::service::testing
