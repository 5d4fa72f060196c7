// What the cache offers, field by field: a row that says something else than the signed provenance of the
// artifact, or than the receipt of the result, makes no hit.
#include <array>
#include <functional>
#include <utility>

#include "coordinator/jobs/evidence.h"
#include "coordinator/recall/recalls.h"
#include "signing/keys/files.h"
#include "signing/trust/trust_root.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::ToolOutcome;

class ProvenResult : public FarmTest {
 protected:
  ProvenResult() {
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
    one_ = worker("w1");
    signing::TrustRoot root = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
    root.recallKeys = signing::RecallKeys{{1, {recallKey_.publicKey()}}, 1, 10};
    EXPECT_TRUE(signing::writeTextFile(trustRoot_, root.toJson().dump()));
  }

  static DeliverySpec by(int builders, int operators = 1) {
    DeliverySpec out;
    out.builders = builders;
    out.operators = operators;
    return out;
  }
  v1::SubmitJobRequest asking(const DeliverySpec& delivery = by(1), const std::string& spec = "") {
    v1::SubmitJobRequest out = request("key-" + std::to_string(++submissions_));
    out.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    out.set_spec_json(spec);
    return out;
  }
  v1::Job built(const v1::SubmitJobRequest& request,
                std::initializer_list<testing_support::FakeWorker*> workers) {
    const v1::Job job = submitted(request);
    settle(job.id(), workers);
    const v1::Job ended = get(job.id());
    EXPECT_EQ(ended.state(), v1::JOB_SUCCEEDED) << ended.error().message();
    return ended;
  }
  // Whether the submission is answered at once with an artifact that is there.
  bool isHit(const v1::SubmitJobRequest& request) { return submitted(request).state() == v1::JOB_SUCCEEDED; }
  // Whether nothing has to run for it: earlier results answer. What they cannot answer is built.
  bool isReused(const v1::SubmitJobRequest& request) {
    const v1::Job job = submitted(request);
    EXPECT_TRUE(advance(job.id()));
    const bool reused = get(job.id()).state() == v1::JOB_SUCCEEDED;
    const auto runs = pool_.execute("SELECT 1 FROM runs WHERE job_id = $1", {job.id()});
    EXPECT_EQ(runs.value().empty(), reused) << get(job.id()).error().message();
    return reused;
  }
  void rows(const std::string& sql) {
    const Status changed = pool_.acquire().value()->executeScript(
        "SET session_replication_role = replica; " + sql + "; SET session_replication_role = origin");
    ASSERT_TRUE(changed) << changed.error().message;
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
  void lift() { recall(signing::RecallKind::kLift, current_->entries.back().id().text()); }

  const std::string trustRoot_ = directory_ / "recall-root.json";
  const signing::PrivateKey recallKey_ = signing::PrivateKey::create().value();
  std::optional<signing::Recalls> current_;
  std::unique_ptr<testing_support::FakeWorker> one_;
  int submissions_ = 0;
};

TEST_F(ProvenResult, OperatorsAreCountedByTheProvenance) {
  auto same = worker("w2");
  built(asking(by(2)), {one_.get(), same.get()});
  rows("DELETE FROM action_results");
  EXPECT_TRUE(isHit(asking(by(2))));
  auto third = worker("w3", "other");
  EXPECT_FALSE(isHit(asking(by(3)))) << "two have built it";
  rows("UPDATE builders SET operator = 'other' WHERE worker = 'w2'");
  EXPECT_FALSE(isHit(asking(by(2, 2)))) << "both are of one operator";
}

// A provenance that names dissenters answers nobody who wants all to agree.
TEST_F(ProvenResult, OneThatWasOutvotedIsNoUnanimity) {
  auto two = worker("w2");
  auto liar = worker("w3");
  liar->tamper = [](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() != v1::ACTION_COMPILE) return;
    outcome.exitCode = 1;
    outcome.files.clear();
  };
  DeliverySpec majority = by(3);
  majority.majority = true;
  const v1::Job job = submitted(asking(majority));
  settle(job.id(), {one_.get(), two.get(), liar.get()});
  ASSERT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
  ASSERT_EQ(get(job.id()).artifacts(0).builders_size(), 2);
  rows("DELETE FROM action_results");  // with them, what was disputed
  EXPECT_FALSE(isHit(asking(by(1)))) << "it was not agreed by all who were asked";
}

// Two artifacts of one model, told apart by the options alone.
TEST_F(ProvenResult, AnArtifactOfAnotherSpecIsNoHit) {
  const std::string other = R"({"numerics":{"contraction":"off","precision":"f32","reassociation":"off"}})";
  const v1::Job plain = built(asking(), {one_.get()});
  const v1::Job changed = built(asking(by(1), other), {one_.get()});
  ASSERT_NE(plain.artifacts(0).digest(), changed.artifacts(0).digest());
  rows("DELETE FROM action_results");
  EXPECT_TRUE(isHit(asking()));
  EXPECT_TRUE(isHit(asking(by(1), other)));
  const std::string first = "'\\x" + plain.artifacts(0).digest().substr(7) + "'::bytea";
  const std::string second = "'\\x" + changed.artifacts(0).digest().substr(7) + "'::bytea";
  rows("UPDATE artifact_actions SET artifact_hash = CASE artifact_hash WHEN " + first + " THEN " + second +
       " ELSE " + first + " END");
  EXPECT_FALSE(isHit(asking()));
  EXPECT_FALSE(isHit(asking(by(1), other)));
}

// The same bytes under another origin are for a statement of their own.
TEST_F(ProvenResult, AnArtifactFromAnotherOriginIsNoHit) {
  const auto from = [&](const std::string& url, char commit = 'c', const std::string& path = "m.onnx") {
    v1::SubmitJobRequest out = asking();
    auto* origin = out.mutable_sources(0)->mutable_origin();
    origin->set_url(url);
    origin->set_commit(std::string(40, commit));
    origin->set_path(path);
    return out;
  };
  built(from("file:///models"), {one_.get()});
  rows("DELETE FROM action_results");
  EXPECT_TRUE(isHit(from("file:///models")));
  EXPECT_FALSE(isHit(from("file:///other")));
  EXPECT_FALSE(isHit(from("file:///models", 'd')));
  EXPECT_FALSE(isHit(from("file:///models", 'c', "n.onnx")));
  EXPECT_FALSE(isHit(asking())) << "none was claimed";
}

TEST_F(ProvenResult, AResultCountsForWhatItsReceiptSays) {
  built(asking(), {one_.get()});
  rows("DELETE FROM artifact_actions; CREATE TABLE kept AS SELECT * FROM action_results");
  for (const char* change :
       {"worker = 'w2'", "operator = 'op2'", "run_id = run_id || 'x'", "epoch = epoch + 1",
        "outputs_hash = sha256(outputs_hash)", "certificate = replace(certificate, 'M', 'N')",
        "receipt = replace(receipt, 'payload\":\"e', 'payload\":\"f')",
        "receipt = (SELECT k.receipt FROM kept k WHERE k.action_hash <> action_results.action_hash LIMIT "
        "1)"}) {
    rows(std::string("UPDATE action_results SET ") + change);
    EXPECT_FALSE(isReused(asking())) << change;
    rows("DELETE FROM action_results; INSERT INTO action_results SELECT * FROM kept");
  }
  EXPECT_TRUE(isReused(asking())) << "as they were";
}

TEST_F(ProvenResult, AFailureThatARowCallsASuccessIsNotReused) {
  one_->tamper = [](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() == v1::ACTION_COMPILE) outcome.exitCode = 1;
  };
  const v1::Job failed = submitted(asking());
  settle(failed.id(), {one_.get()});
  ASSERT_EQ(get(failed.id()).state(), v1::JOB_FAILED);
  rows("UPDATE action_results SET exit_code = 0");
  EXPECT_FALSE(isReused(asking()));
}

TEST_F(ProvenResult, OtherOutputsThanTheReceiptsAreNotReused) {
  built(asking(), {one_.get()});
  rows("DELETE FROM artifact_actions; CREATE TABLE kept AS SELECT * FROM action_results");
  const auto changeOutputs = [&](const std::function<void(reapi::ActionResult&)>& change,
                                 bool withTheirHash) {
    auto found = pool_.execute("SELECT run_id, result FROM action_results").value();
    for (int i = 0; i < found.size(); ++i) {
      const auto bytes = found[i].get<std::vector<std::uint8_t>>("result");
      reapi::ActionResult result;
      ASSERT_TRUE(result.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
      change(result);
      const Digest hash = jobs::outputsDigest(jobs::readOutputs(result).value());
      ASSERT_TRUE(pool_.execute(
          "UPDATE action_results SET result = $2, outputs_hash = CASE WHEN $3 THEN $4 ELSE outputs_hash END "
          "WHERE run_id = $1",
          {found[i].get<std::string>("run_id"), asBytes(result.SerializeAsString()), withTheirHash,
           Bytes(hash.hash)}));
    }
  };
  const Digest planted = put("planted");
  const std::pair<const char*, std::function<void(reapi::ActionResult&)>> changes[] = {
      {"other bytes",
       [&](reapi::ActionResult& result) {
         *result.mutable_output_files(0)->mutable_digest() = toProto(planted);
       }},
      {"another name",
       [](reapi::ActionResult& result) {
         auto& file = *result.mutable_output_files(result.output_files_size() - 1);
         file.set_path(file.path() + "x");
       }},
      {"one file more",
       [&](reapi::ActionResult& result) {
         auto* file = result.add_output_files();
         file->set_path("output/zzz");
         *file->mutable_digest() = toProto(planted);
       }},
      {"one file less", [](reapi::ActionResult& result) { result.mutable_output_files()->RemoveLast(); }},
  };
  for (const auto& [what, change] : changes) {
    for (const bool withTheirHash : {false, true}) {
      changeOutputs(change, withTheirHash);
      EXPECT_FALSE(isReused(asking())) << what << ", with their hash: " << withTheirHash;
      rows("DELETE FROM action_results; INSERT INTO action_results SELECT * FROM kept");
    }
  }
  EXPECT_TRUE(isReused(asking())) << "as they were";
}

TEST_F(ProvenResult, AResultOfARecalledWorkerIsNotReused) {
  auto spare = worker("w2", "other");
  built(asking(), {one_.get()});
  rows("DELETE FROM artifact_actions");
  recall(signing::RecallKind::kWorker, "w1");
  EXPECT_FALSE(isReused(asking()));
  lift();
  recall(signing::RecallKind::kOperator, "op");
  EXPECT_FALSE(isReused(asking()));
  lift();
  EXPECT_TRUE(isReused(asking()));
}

// By its name, its operator or its key.
TEST_F(ProvenResult, ARecalledWorkerGetsNoLeases) {
  auto spare = worker("w2", "other");
  const std::string keyId =
      signing::Certificate::fromPem(one_->description.certificate_pem()).value().publicKey().id();
  for (const auto& [kind, what] : {std::pair(signing::RecallKind::kWorker, std::string("w1")),
                                   std::pair(signing::RecallKind::kOperator, std::string("op")),
                                   std::pair(signing::RecallKind::kKey, keyId)}) {
    recall(kind, what);
    rows("DELETE FROM action_results; DELETE FROM artifact_actions");
    const v1::Job job = submitted(asking());
    EXPECT_TRUE(one_->poll().empty()) << what;
    settle(job.id(), {spare.get()});
    EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
    lift();
  }
  rows("DELETE FROM action_results; DELETE FROM artifact_actions");
  built(asking(), {one_.get()});
}

TEST_F(ProvenResult, WhereAllWorkersWereRecalledASubmissionSaysSo) {
  recall(signing::RecallKind::kWorker, "w1");
  v1::Job job;
  const grpc::Status refused = submit(asking(), &job);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(refused.error_message().find("worker w1 was recalled on"), std::string::npos)
      << refused.error_message();
  EXPECT_NE(refused.error_message().find("bad (worker w1)"), std::string::npos) << refused.error_message();
  lift();
  built(asking(), {one_.get()});
}

// They were leased before; what they leave counts for nobody any more.
TEST_F(ProvenResult, AJobWhoseBuildersWereRecalledMeanwhileFailsWithTheRecall) {
  auto two = worker("w2", "other");
  const auto endedAfter = [&](int builders, signing::RecallKind kind, const std::string& what) {
    rows("DELETE FROM action_results; DELETE FROM artifact_actions");
    const v1::Job job = submitted(asking(by(builders)));
    // One builder is recalled once it has all that is to be done.
    int leases = 0;
    bool isRecalled = false;
    one_->tamper = [&](const v1::Lease& lease, ToolOutcome&) {
      const bool hasAll = builders == 1 ? ++leases == 2 : lease.kind() == v1::ACTION_COMPILE;
      if (hasAll && !std::exchange(isRecalled, true)) recall(kind, what);
    };
    if (builders > 1)
      settle(job.id(), {one_.get(), two.get()});
    else
      settle(job.id(), {one_.get()});
    one_->tamper = nullptr;
    EXPECT_TRUE(isRecalled);
    return get(job.id());
  };
  for (const int builders : {1, 2}) {
    const v1::Job failed = endedAfter(builders, signing::RecallKind::kWorker, "w1");
    EXPECT_EQ(failed.state(), v1::JOB_FAILED) << builders;
    EXPECT_EQ(failed.error().exit_code(), 5);
    EXPECT_NE(failed.error().message().find("bad (worker w1)"), std::string::npos)
        << failed.error().message();
    lift();
    clock_.advance(std::chrono::seconds(1));  // the same at the same time would be the same recall
  }
  EXPECT_EQ(endedAfter(1, signing::RecallKind::kWorker, "w9").state(), v1::JOB_SUCCEEDED) << "another's";
}

// The provenance names the fixtures, and who compiled is not who made them.
TEST_F(ProvenResult, AJobWhoseFixturesARecalledWorkerMadeFailsWithTheRecall) {
  auto two = worker("w2", "other");
  one_->description.clear_kinds();
  one_->description.add_kinds(v1::ACTION_REFERENCE);
  two->description.clear_kinds();
  two->description.add_kinds(v1::ACTION_COMPILE);
  ASSERT_TRUE(one_->synchronize({}));
  ASSERT_TRUE(two->synchronize({}));
  const std::string keyId =
      signing::Certificate::fromPem(one_->description.certificate_pem()).value().publicKey().id();
  for (const auto& [kind, what] : {std::pair(signing::RecallKind::kWorker, std::string("w1")),
                                   std::pair(signing::RecallKind::kOperator, std::string("op")),
                                   std::pair(signing::RecallKind::kKey, keyId)}) {
    rows("DELETE FROM action_results; DELETE FROM artifact_actions");
    const int signatures = signer_.calls;
    const v1::Job job = submitted(asking());
    two->tamper = [&](const v1::Lease&, ToolOutcome&) { recall(kind, what); };
    settle(job.id(), {one_.get(), two.get()});
    const v1::Job failed = get(job.id());
    EXPECT_EQ(failed.state(), v1::JOB_FAILED) << what;
    EXPECT_EQ(failed.error().exit_code(), 5) << failed.error().message();
    EXPECT_NE(failed.error().message().find("recalled on"), std::string::npos) << failed.error().message();
    EXPECT_EQ(signer_.calls, signatures);
    lift();
    clock_.advance(std::chrono::seconds(1));
  }
}

}  // namespace
}  // namespace kiln::service
