// Whatever an honest farm did, and in whatever order, its audit is clean: random sequences of what users,
// workers, recall keys and policies do, over few models, so that the same bytes come again and again. The
// seed of a failure is in its trace; KILN_HISTORY_SEED=N runs that one alone.
#include <array>
#include <cstdlib>
#include <random>

#include "coordinator/policy/promoter.h"
#include "coordinator/recall/recalls.h"
#include "signing/keys/files.h"
#include "tests/api/audit/logged_farm.h"

namespace kiln::audit {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using testing_support::FakeWorker;

constexpr unsigned kSequences = 4;
constexpr int kSteps = 12;
// What the fetching worker of the tests fetches: uploaded, it is the same model.
constexpr std::array kModels{"fetched model", "another model"};
// Idle workers are answered half a second before this.
constexpr milliseconds kPoll{520};

class AuditedHistory : public LoggedFarm {
 protected:
  void SetUp() override {
    tree_ = putToolchain();
    ASSERT_TRUE(addToolchain(tree_, "", nullptr, put(testing_support::sampleLock().dump())).ok());
    root_.recallKeys = signing::RecallKeys{{1, {recallKey_.publicKey()}}, 1, 10};
    ASSERT_TRUE(signing::writeTextFile(trustRoot_, root_.toJson().dump()));
    for (int i = 1; i <= 5; ++i) {
      workers_.push_back(worker("w" + std::to_string(i), i % 2 ? "op" : "other"));
      v1::Device cpu;
      cpu.set_id("cpu");
      cpu.set_kind("cpu");
      cpu.set_healthy(true);
      cpu.add_runs("cpu:x86-64-v3");
      *workers_.back()->description.add_devices() = cpu;
      ASSERT_TRUE(workers_.back()->synchronize({}, kPoll));
    }
  }

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

  // Drives the job to its end, with the workers in a random order.
  void finish(const std::string& id) {
    for (int round = 0; round < 20; ++round) {
      ASSERT_TRUE(advance(id));
      const v1::Job job = get(id);
      if (job.state() >= v1::JOB_SUCCEEDED) {
        for (const auto& artifact : job.artifacts())
          if (job.state() == v1::JOB_SUCCEEDED) artifacts_.insert(artifact.digest());
        ended_[job.state()]++;
        return;
      }
      std::ranges::shuffle(workers_, random_);
      for (auto& worker : workers_) {
        const auto answer = worker->synchronize({}, kPoll);
        if (!answer) continue;
        std::vector<v1::LeaseReport> reports;
        for (const v1::Lease& lease : answer->run()) reports.push_back(worker->run(lease).value());
        if (!reports.empty()) ASSERT_TRUE(worker->synchronize(reports));
      }
    }
    ADD_FAILURE() << "job " << id << " does not end";
  }

  v1::SubmitJobRequest asking(int builders = 1) {
    v1::SubmitJobRequest out =
        request("key-" + std::to_string(++keys_), builders, kModels[below(kModels.size())]);
    if (below(3) == 0) {  // read from a repository by the client
      auto& origin = *out.mutable_sources(0)->mutable_origin();
      origin.set_url("file:///models");
      origin.set_commit(std::string(40, below(2) ? 'c' : 'd'));
      origin.set_path("m.onnx");
    }
    return out;
  }
  static void deliver(v1::SubmitJobRequest& request, const DeliverySpec& delivery) {
    request.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
  }
  void run(const v1::SubmitJobRequest& request) {
    v1::Job job;
    const grpc::Status status = submit(request, &job);
    // What was recalled, and what nobody is left to rebuild, is refused by name.
    if (!status.ok()) return static_cast<void>(refused_++);
    finish(job.id());
  }

  void buildLocal() { run(asking()); }
  void buildByTwo() { run(asking(2)); }
  void buildAfresh() {
    auto wanted = asking();
    DeliverySpec delivery;
    delivery.noCache = true;
    deliver(wanted, delivery);
    run(wanted);
  }
  void buildFromGit() {
    auto wanted = asking();
    auto& source = *wanted.mutable_sources(0);
    source.Clear();
    source.mutable_git()->set_url(below(2) ? "https://git.example/models" : "https://other.example/models");
    source.mutable_git()->set_commit(std::string(40, 'a'));
    source.mutable_git()->set_path("m.onnx");
    run(wanted);
  }
  void buildTuned() {
    auto wanted = asking();
    DeliverySpec delivery;
    delivery.tuning = TuningRequest{.search = below(2) == 0, .budgetSeconds = 30};
    deliver(wanted, delivery);
    run(wanted);
  }
  void rebuild() {
    if (artifacts_.empty()) return;
    auto wanted = asking();
    wanted.mutable_sources(0)->clear_origin();
    DeliverySpec delivery;
    delivery.noCache = true;
    const std::string digest = anArtifact();
    delivery.rebuild = RebuildRequest{*fromProto(artifact(digest).manifest()), {}};
    deliver(wanted, delivery);
    run(wanted);
  }
  void tombstone() {
    if (!artifacts_.empty())
      (void)service::addTombstone(farm_.stores, farm_.signatory, "default", anArtifact(),
                                  "its licence ended");
  }
  void judge() {
    const int builders = 1 + static_cast<int>(below(2));
    const service::InstancePolicies policies(trustRoot_, {{"default",
                                                           {.name = "test",
                                                            .allowDevelopment = true,
                                                            .builderIds = {"*"},
                                                            .minBuilders = builders,
                                                            .targets = {"*"},
                                                            .toolchains = {"*"}}}});
    const auto judged = service::Promoter(farm_.judging, policies).judgeDue();
    EXPECT_TRUE(judged) << judged.error().message;
  }
  void recall() {
    if (artifacts_.empty()) return;
    if (below(2)) return issue(signing::RecallKind::kArtifact, anArtifact());
    issue(signing::RecallKind::kWorker, "w" + std::to_string(1 + below(5)));
  }
  void lift() {
    if (!recalls_) return;
    for (const auto& entry : recalls_->entries)
      if (!entry.lifted && entry.recall.kind != signing::RecallKind::kLift)
        return issue(signing::RecallKind::kLift, entry.id().text());
  }

  std::string anArtifact() {
    return *std::next(artifacts_.begin(), static_cast<long>(below(artifacts_.size())));
  }
  void issue(signing::RecallKind kind, const std::string& what) {
    const bool lifts = kind == signing::RecallKind::kLift;
    const signing::Recall news{kind, what, "bad", clock_.now(), {}, {}, {}, {}, !lifts};
    const auto text = signing::Recalls::issue(recalls_ ? &*recalls_ : nullptr, news, std::array{recallKey_},
                                              clock_.now(), clock_.now() + std::chrono::hours(1000), "");
    ASSERT_TRUE(text) << text.error().message;
    auto published = publish(text.value());
    ASSERT_TRUE(published) << published.error().message;
    recalls_ = std::move(*published);
  }

  // One of everything that may happen to a farm.
  void step() {
    using Step = void (AuditedHistory::*)();
    static constexpr std::array<Step, 10> kAll{&AuditedHistory::buildLocal,  &AuditedHistory::buildByTwo,
                                               &AuditedHistory::buildAfresh, &AuditedHistory::buildFromGit,
                                               &AuditedHistory::buildTuned,  &AuditedHistory::rebuild,
                                               &AuditedHistory::tombstone,   &AuditedHistory::judge,
                                               &AuditedHistory::recall,      &AuditedHistory::lift};
    const std::size_t which = below(kAll.size());
    trace_ += " " + std::to_string(which);
    (this->*kAll[which])();
    clock_.advance(std::chrono::seconds(below(3) * 40));
  }

  std::mt19937_64 random_;
  std::string trace_;
  const signing::PrivateKey recallKey_ = signing::PrivateKey::create().value();
  std::vector<std::unique_ptr<FakeWorker>> workers_;
  std::set<std::string> artifacts_;
  std::optional<signing::Recalls> recalls_;
  std::map<int, int> ended_;
  int keys_ = 0, refused_ = 0;
};

class Sequence : public AuditedHistory, public ::testing::WithParamInterface<unsigned> {};

TEST_P(Sequence, LeavesACleanAudit) {
  const char* chosen = std::getenv("KILN_HISTORY_SEED");
  const unsigned seed = chosen ? static_cast<unsigned>(std::atoi(chosen)) : GetParam();
  random_.seed(seed);
  buildLocal();
  for (int i = 0; i < kSteps && !HasFailure(); ++i) step();
  const auto findings = audited(100);
  EXPECT_TRUE(findings.empty()) << "seed " << seed << ", steps" << trace_ << ": " << findings.size()
                                << " findings, the first " << findingName(findings[0].kind) << " in "
                                << findings[0].table << ": " << findings[0].subject << ": "
                                << findings[0].what;
  EXPECT_FALSE(artifacts_.empty());
  EXPECT_GT(ended_[v1::JOB_SUCCEEDED], 0);
}

INSTANTIATE_TEST_SUITE_P(Random, Sequence, ::testing::Range(0u, kSequences));

// The order that showed it: the same bytes from a file, then from a repository, each with what was said of
// the artifact before inherited.
TEST_F(AuditedHistory, TheSameBytesFromElsewhereLeaveACleanAudit) {
  buildLocal();
  clock_.advance(std::chrono::minutes(1));
  buildFromGit();
  clock_.advance(std::chrono::minutes(1));
  rebuild();
  buildFromGit();
  buildByTwo();
  const auto findings = audited(100);
  EXPECT_TRUE(findings.empty()) << findings[0].table << ": " << findings[0].what;
}

}  // namespace
}  // namespace kiln::audit
