// What is kept of a run's report, and what a report of each kind must come with.
#include "coordinator/drivers/completion.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "storage/index/jobs/job_repository.h"
#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/metrics.h"

namespace kiln::service {
namespace {

using namespace testing;
using index::ActionKind;
using testing_support::ToolOutcome;

class Completions : public FarmTest {
 protected:
  Completions() {
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
    one_ = worker("w1");
  }

  // A new job, of whose compile the worker leaves what `tamper` makes of it and reports what `forge` does.
  v1::Job reported(std::function<void(ToolOutcome&)> tamper = {},
                   std::function<void(v1::Finished&)> forge = {}) {
    const std::string key = "k" + std::to_string(++jobsMade_);
    const v1::Job job = submitted(request(key, 1, "model of " + key));
    one_->tamper = [tamper = std::move(tamper)](const v1::Lease& lease, ToolOutcome& outcome) {
      if (tamper && lease.kind() == v1::ACTION_COMPILE) tamper(outcome);
    };
    one_->forge = [forge = std::move(forge)](const v1::Lease& lease, v1::Finished& report) {
      if (forge && lease.kind() == v1::ACTION_COMPILE) forge(report);
    };
    EXPECT_TRUE(one_->work());
    return job;
  }
  // For which the report of this kind was refused; "" if it was not.
  std::string refusal(const v1::Job& job, ActionKind kind = ActionKind::kCompile) {
    auto rows = pool_.execute(
        "SELECT a.error FROM attempts a JOIN runs r ON r.instance = a.instance AND r.id = a.run_id WHERE "
        "r.job_id = $1 AND r.kind = $2 AND a.ended IS NOT NULL",
        {job.id(), static_cast<int>(kind)});
    auto error = rows->first([](const postgres::Row& row) { return row.get<std::string>("error"); });
    return error && *error ? **error : "no attempt ended";
  }
  index::ResultRecord kept(const v1::Job& job) {
    const auto loaded = [&] {
      auto connection = pool_.acquire().value();
      return index::loadJob(*connection, {"default", job.id()}, index::Evidence::kWith).value().value();
    }();
    for (const index::ActionRecord& action : loaded.actions)
      for (const index::ResultRecord& result : loaded.results)
        if (action.kind == ActionKind::kCompile && result.action == action.action) return result;
    ADD_FAILURE() << "no result of a compile was kept";
    return {};
  }
  double counted(const std::string& taken) {
    for (const auto& family : registry_->Collect())
      for (const auto& metric : family.metric)
        for (const auto& label : metric.label)
          if (family.name == "kiln_results_total" && label.name == "taken" && label.value == taken)
            return metric.counter.value;
    return 0;
  }

  std::unique_ptr<testing_support::FakeWorker> one_;
  int jobsMade_ = 0;
};

TEST_F(Completions, AResultIsKeptWithWhoSaidItOfWhatAndWhen) {
  const v1::Job job = submitted(request("k"));
  const TimePoint leased = clock_.now();
  const std::vector<v1::Lease> leases = one_->poll();
  clock_.advance(std::chrono::seconds(5));
  for (const v1::Lease& lease : leases) {
    const v1::LeaseReport report = one_->run(lease).value();
    ASSERT_TRUE(one_->synchronize({report}));
    if (lease.kind() != v1::ACTION_COMPILE) continue;
    const index::ResultRecord result = kept(job);
    EXPECT_EQ(result.instance, "default");
    EXPECT_EQ(result.jobId, job.id());
    EXPECT_EQ(result.runId, lease.id());
    EXPECT_EQ(result.epoch, lease.epoch());
    EXPECT_EQ(result.worker, "w1");
    EXPECT_EQ(result.operatorName, "op");
    EXPECT_EQ(result.exitCode, 0);
    EXPECT_EQ(result.receipt, report.finished().receipt_json());
    EXPECT_EQ(result.certificate, one_->description.certificate_pem());
    EXPECT_EQ(result.leased, leased);
    EXPECT_EQ(result.recorded, clock_.now());
    EXPECT_EQ(
        testing_support::metric(*registry_, "kiln_lease_seconds", {{"kind", "compile"}, {"outcome", "good"}}),
        1);
  }
  for (const auto& family : registry_->Collect())
    if (family.name == "kiln_lease_seconds") {
      EXPECT_EQ(family.metric.at(0).histogram.sample_sum, 5);
    }
}

TEST_F(Completions, ACompileLeavesItsEvidenceAndManifest) {
  for (const std::string name : {"evidence.json", "manifest.json"}) {
    const v1::Job job = reported([&](ToolOutcome& outcome) { outcome.files.erase(name); });
    EXPECT_EQ(refusal(job), "result refused: the outputs lack " + name);
  }
  EXPECT_EQ(refusal(reported([](ToolOutcome& outcome) {
              outcome.exitCode = 3;
              outcome.files.clear();
            })),
            "")
      << "one that failed leaves what it likes";
}

TEST_F(Completions, AFetchLeavesTheFileThatItsSourceNames) {
  v1::SubmitJobRequest git = request("git");
  git.mutable_sources(0)->clear_blob();
  auto* source = git.mutable_sources(0)->mutable_git();
  source->set_url("https://git.example/models.git");
  source->set_commit(std::string(40, 'a'));
  source->set_path("dir/m.onnx");
  one_->tamper = [](const v1::Lease&, ToolOutcome& outcome) { outcome.files = {{"dir/m.onnx", "x"}}; };
  const v1::Job job = submitted(git);
  ASSERT_TRUE(one_->work());
  EXPECT_EQ(refusal(job, ActionKind::kFetch), "result refused: the fetcher's result lacks \"m.onnx\"");
}

// The index is changed by hand.
TEST_F(Completions, ATargetThatTheJobDoesNotHaveIsRefused) {
  const v1::Job job = submitted(request("k"));
  const std::vector<v1::Lease> leases = one_->poll();
  ASSERT_TRUE(pool_.execute("UPDATE runs SET target = 'cpu:x86-64-v4' WHERE target <> ''"));
  for (const v1::Lease& lease : leases) ASSERT_TRUE(one_->synchronize({one_->run(lease).value()}));
  EXPECT_EQ(refusal(job), "result refused: a compile for a target that nobody wants");
}

TEST_F(Completions, TheEndOfTheLogIsKept) {
  const auto keptOf = [&](const std::string& said, const std::string& uploaded = "", int exitCode = 3) {
    reapi::ActionResult out;
    const v1::Job job = reported(
        [&](ToolOutcome& outcome) {
          outcome.exitCode = exitCode;
          outcome.standardError = said;
        },
        [&](v1::Finished& report) {
          if (!uploaded.empty()) *report.mutable_result()->mutable_stderr_digest() = toProto(put(uploaded));
        });
    EXPECT_TRUE(out.ParseFromString(kept(job).result));
    EXPECT_EQ(out.exit_code(), exitCode);
    EXPECT_GT(out.output_files_size(), 0);
    EXPECT_FALSE(out.has_stderr_digest());
    return out.stderr_raw();
  };
  const std::string most(64 << 10, 'x');
  EXPECT_EQ(keptOf("no such operator"), "no such operator");
  EXPECT_EQ(keptOf(most), most);
  EXPECT_EQ(keptOf("before" + most), most);
  EXPECT_EQ(keptOf("", "no such operator"), "no such operator");
  EXPECT_EQ(keptOf("", "before" + most), most);
  EXPECT_EQ(keptOf("said", "uploaded"), "said");
  EXPECT_EQ(keptOf(""), "");
  EXPECT_EQ(keptOf("stage: codegen", "", 0), "stage: codegen");
  EXPECT_EQ(keptOf("before" + most, "", 0), most.substr(0, 4 << 10)) << "of a success less";
  EXPECT_EQ(keptOf("", "uploaded", 0), "") << "and nothing is fetched";
}

TEST_F(Completions, ALogThatIsNotThereRefusesTheReport) {
  const v1::Job job = reported([](ToolOutcome& outcome) { outcome.exitCode = 3; },
                               [](v1::Finished& report) {
                                 *report.mutable_result()->mutable_stderr_digest() =
                                     toProto(digestOf("never uploaded"));
                               });
  EXPECT_TRUE(refusal(job).starts_with("result refused: ")) << refusal(job);
}

TEST_F(Completions, TakenAndRefusedResultsAreCounted) {
  reported();
  EXPECT_EQ(counted("yes"), 2) << "the compile and the reference";
  EXPECT_EQ(counted("no"), 0);
  reported([](ToolOutcome& outcome) { outcome.files.erase("manifest.json"); });
  EXPECT_EQ(counted("yes"), 3);
  EXPECT_EQ(counted("no"), 1);
  reported({}, [](v1::Finished& report) {
    report.Clear();
    report.set_error_code(static_cast<int>(Code::kUnavailable));
  });
  EXPECT_EQ(counted("yes"), 4);
  EXPECT_EQ(counted("no"), 1) << "what failed without a result was not refused";
}

// The process may open no more files: not the worker's fault, and over one day.
TEST_F(Completions, WhatTheFarmCouldNotReadRefusesNoResult) {
  submitted(request("k"));
  const std::vector<v1::Lease> leases = one_->poll();
  ASSERT_FALSE(leases.empty());
  const v1::LeaseReport report = one_->run(leases[0]).value();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::open("/dev/null", O_RDONLY);  // all lower ones are taken
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::close(next) + ::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto refused = one_->synchronize({report});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted) << refused.error().message;
  EXPECT_EQ(counted("no"), 0);
  const auto taken = one_->synchronize({report});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->forget_size(), 1);
  EXPECT_EQ(counted("yes"), 1);
}

// As if the lease ran out while the outputs were read.
TEST_F(Completions, AResultWhoseLeaseIsLostMeanwhileIsForgotten) {
  submitted(request("k"));
  const std::vector<v1::Lease> leases = one_->poll();
  ASSERT_FALSE(leases.empty());
  ASSERT_TRUE(pool_.acquire().value()->executeScript(
      "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS "
      "'BEGIN NEW.epoch := NEW.epoch + 1; RETURN NEW; END';"
      "CREATE TRIGGER lose BEFORE UPDATE OF expires ON runs FOR EACH ROW EXECUTE FUNCTION lose()"));
  int stored = 0;
  farm_.observers.reached = [&](std::string_view) { ++stored; };
  for (const v1::Lease& lease : leases) {
    const auto answer = one_->synchronize({one_->run(lease).value()});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->forget_size(), 1);
  }
  EXPECT_EQ(stored, 0);
  EXPECT_EQ(counted("yes"), 0);
  EXPECT_TRUE(pool_.execute("SELECT 1 FROM action_results")->empty());
}

}  // namespace
}  // namespace kiln::service
