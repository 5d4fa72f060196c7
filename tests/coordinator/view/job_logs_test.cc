// GetLogs: what the tools of a job's actions wrote, in the order of the actions, bounded; and who is told
// what when there is none.
#include "coordinator/view/job_logs.h"

#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::ToolOutcome;

class JobLogs : public FarmTest {
 protected:
  JobLogs() { EXPECT_TRUE(addToolchain(putToolchain()).ok()); }

  grpc::Status logs(const std::string& job, v1::JobLogs& out, const std::string& worker = "",
                    const std::string& target = "", const std::string& instance = "default",
                    int attempt = 0) {
    v1::GetLogsRequest request;
    request.set_instance(instance);
    request.set_job(job);
    request.set_worker(worker);
    request.set_target(target);
    request.set_attempt(attempt);
    grpc::ClientContext context;
    return jobStub_->GetLogs(&context, request, &out);
  }
  // A job whose compile ends with `text` on stderr.
  v1::Job failedWith(const std::string& text) {
    auto one = worker("w1");
    const v1::Job job = submitted(request("k1"));
    one->tamper = [text](const v1::Lease& lease, ToolOutcome& outcome) {
      if (lease.kind() != v1::ACTION_COMPILE) return;
      outcome.exitCode = 4;
      outcome.files.clear();
      outcome.standardError = text;
    };
    settle(job.id(), {one.get()});
    return get(job.id());
  }
};

TEST_F(JobLogs, AreThoseOfTheActionsInTheirOrder) {
  const v1::Job job = failedWith("stage: capture\nno such operator\n");
  ASSERT_EQ(job.state(), v1::JOB_FAILED);
  v1::JobLogs out;
  const grpc::Status status = logs(job.id(), out);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(out.logs_size(), 2);
  EXPECT_EQ(out.logs(0).kind(), v1::ACTION_REFERENCE);
  EXPECT_EQ(out.logs(0).builder().exit_code(), 0);
  EXPECT_EQ(out.logs(1).kind(), v1::ACTION_COMPILE);
  EXPECT_EQ(out.logs(1).target(), "cpu:x86-64-v3");
  EXPECT_EQ(out.logs(1).builder().worker(), "w1");
  EXPECT_EQ(out.logs(1).builder().exit_code(), 4);
  EXPECT_EQ(out.logs(1).text(), "stage: capture\nno such operator\n");
  EXPECT_FALSE(out.logs(1).truncated());
}

TEST_F(JobLogs, AreOfOneWorkerOrTargetWhereItIsNamed) {
  const v1::Job job = failedWith("no\n");
  v1::JobLogs out;
  ASSERT_TRUE(logs(job.id(), out, "w1", "cpu:x86-64-v3").ok());
  ASSERT_EQ(out.logs_size(), 1);
  EXPECT_EQ(out.logs(0).kind(), v1::ACTION_COMPILE);
  const grpc::Status other = logs(job.id(), out, "w2");
  EXPECT_EQ(other.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_NE(other.error_message().find("kiln logs JOB"), std::string::npos) << other.error_message();
  const grpc::Status typo = logs(job.id(), out, "", "cpu:x86-64-v33");
  EXPECT_EQ(typo.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(
      typo.error_message().find("does not build for \"cpu:x86-64-v33\"; did you mean \"cpu:x86-64-v3\"?"),
      std::string::npos)
      << typo.error_message();
}

TEST_F(JobLogs, ALongOneIsItsEnd) {
  const v1::Job job = failedWith(std::string(100'000, 'x') + "the end\n");
  v1::JobLogs out;
  ASSERT_TRUE(logs(job.id(), out).ok());
  const auto& log = out.logs(out.logs_size() - 1);
  EXPECT_EQ(log.text().size(), kMaxOfALog);
  EXPECT_TRUE(log.text().ends_with("xthe end\n"));
  EXPECT_TRUE(log.truncated());
}

TEST_F(JobLogs, TogetherFitAnAnswer) {
  index::JobSnapshot snapshot;
  snapshot.actions = {{index::ActionKind::kCompile, "cpu:x86-64-v3", digestOf("action"), {}}};
  reapi::ActionResult result;
  result.set_stderr_raw(std::string(kMaxOfALog - 1, 'x'));
  for (int i = 0; i < 100; ++i) {
    index::ResultRecord record;
    record.action = digestOf("action");
    record.worker = "w" + std::to_string(i);
    record.result = result.SerializeAsString();
    snapshot.results.push_back(record);
  }
  snapshot.job.key.id = "of its own";
  const auto out = logsOf(snapshot, {}, {});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->logs_size(), 100);
  EXPECT_LE(out->ByteSizeLong(), kMaxOfAllLogs + (64u << 10));
  EXPECT_FALSE(out->logs(0).truncated());
  EXPECT_TRUE(out->logs(99).truncated());
}

TEST_F(JobLogs, ThatOfASuccessIsCutToItsOwnLength) {
  index::JobSnapshot snapshot;
  snapshot.actions = {{index::ActionKind::kCompile, "cpu:x86-64-v3", digestOf("action"), {}}};
  for (const std::size_t size : {kMaxOfASuccess - 1, kMaxOfASuccess}) {
    reapi::ActionResult result;
    result.set_stderr_raw(std::string(size, 'x'));
    index::ResultRecord record;
    record.action = digestOf("action");
    record.result = result.SerializeAsString();
    snapshot.results.push_back(record);
  }
  snapshot.job.key.id = "of its own";
  const auto out = logsOf(snapshot, {}, {});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_FALSE(out->logs(0).truncated());
  EXPECT_TRUE(out->logs(1).truncated());
}

// However an attempt ended, and whoever had it: lost, a failure without a result, one for ever, done,
// cancelled.
TEST_F(JobLogs, EveryAttemptIsThereAndHowItEnded) {
  auto one = worker("w1");
  const v1::Job job = submitted(request("k1"));
  ASSERT_EQ(one->poll().size(), 2u);
  auto two = worker("w2");
  ASSERT_TRUE(driver_.sweep());  // the first one after a start gives every lease a full term
  clock_.advance(std::chrono::seconds(31));
  ASSERT_TRUE(driver_.sweep());
  two->forge = [](const v1::Lease&, v1::Finished& report) {
    report.Clear();
    report.set_error_code(static_cast<int>(Code::kInternal));
    report.set_error_message("no room\x1b");
    report.set_retryable(true);
  };
  ASSERT_TRUE(two->work());
  clock_.advance(std::chrono::seconds(31));
  auto three = worker("w3");
  three->tamper = [](const v1::Lease&, ToolOutcome& outcome) { outcome.standardError = "third\n"; };
  settle(job.id(), {three.get()});
  ASSERT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();

  v1::JobLogs all;
  ASSERT_TRUE(logs(job.id(), all).ok());
  ASSERT_EQ(all.logs_size(), 6) << all.ShortDebugString();
  const char* outcomes[] = {"lost", "failed", "done"};
  for (int i = 0; i < 6; ++i) {
    const auto& log = all.logs(i);
    EXPECT_EQ(log.kind(), i < 3 ? v1::ACTION_REFERENCE : v1::ACTION_COMPILE);
    EXPECT_EQ(log.attempt(), 1 + i % 3);
    EXPECT_EQ(log.builder().worker(), "w" + std::to_string(1 + i % 3));
    EXPECT_EQ(log.builder().job(), job.id());
    EXPECT_EQ(log.outcome(), outcomes[i % 3]);
    EXPECT_GE(log.ended().seconds(), log.leased().seconds());
    EXPECT_EQ(log.text(), i % 3 == 2 ? "third\n" : "");
  }
  EXPECT_NE(all.logs(0).error().find("silent"), std::string::npos) << all.logs(0).error();
  EXPECT_EQ(all.logs(1).error().find("no room"), 0u) << all.logs(1).error();
  EXPECT_EQ(all.logs(1).error().find('\x1b'), std::string::npos);
  EXPECT_TRUE(all.logs(2).error().empty());

  v1::JobLogs second, of;
  ASSERT_TRUE(logs(job.id(), second, "", "cpu:x86-64-v3", "default", 2).ok());
  ASSERT_EQ(second.logs_size(), 1);
  EXPECT_EQ(second.logs(0).SerializeAsString(), all.logs(4).SerializeAsString());
  ASSERT_TRUE(logs(job.id(), of, "w3").ok());
  EXPECT_EQ(of.logs(0).attempt(), 3) << "a worker's attempts keep their numbers";
  EXPECT_EQ(logs(job.id(), of, "", "", "default", 4).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(logs(job.id(), of, "w1", "", "default", 2).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(logs(job.id(), of, "", "", "default", -1).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// What the cache answered was another job's attempt.
TEST_F(JobLogs, AResultOfAnotherJobIsNoAttemptOfThisOne) {
  auto one = worker("w1");
  const v1::Job first = submitted(request("k1"));
  settle(first.id(), {one.get()});
  auto two = worker("w2");
  const v1::Job again = submitted(request("k2", 2));  // wants another builder beside the first
  settle(again.id(), {one.get(), two.get()});
  v1::JobLogs out;
  ASSERT_TRUE(logs(again.id(), out, "", "cpu:x86-64-v3").ok());
  ASSERT_EQ(out.logs_size(), 2) << out.ShortDebugString();
  EXPECT_EQ(out.logs(0).attempt(), 0);
  EXPECT_EQ(out.logs(0).builder().job(), first.id());
  EXPECT_EQ(out.logs(1).attempt(), 1);
  EXPECT_EQ(out.logs(1).builder().job(), again.id());
  ASSERT_TRUE(logs(again.id(), out, "", "cpu:x86-64-v3", "default", 1).ok());
  ASSERT_EQ(out.logs_size(), 1);
  EXPECT_EQ(out.logs(0).builder().worker(), "w2");
}

TEST_F(JobLogs, ReasonsOfManyAttemptsFitAnAnswer) {
  index::JobSnapshot snapshot;
  snapshot.actions = {{index::ActionKind::kCompile, "cpu:x86-64-v3", digestOf("action"), {}}};
  index::AttemptRecord attempt;
  attempt.action = digestOf("action");
  attempt.outcome = "failed";
  attempt.error = std::string(4096, 'x');
  const auto out = logsOf(snapshot, std::vector(1000, attempt), {});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->logs_size(), 1000);
  EXPECT_LE(out->ByteSizeLong(), kMaxOfAllLogs + (256u << 10));
}

TEST_F(JobLogs, WhatHasNoneSaysSo) {
  v1::JobLogs out;
  auto one = worker("w1");
  const v1::Job job = submitted(request("k2"));
  const grpc::Status none = logs(job.id(), out);
  EXPECT_EQ(none.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_NE(none.error_message().find("no tool has ended yet"), std::string::npos) << none.error_message();
  EXPECT_EQ(logs("nothing", out).error_code(), grpc::StatusCode::NOT_FOUND);
  const grpc::Status elsewhere = logs(job.id(), out, "", "", "other");
  EXPECT_EQ(elsewhere.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_NE(elsewhere.error_message().find("no job is called"), std::string::npos)
      << elsewhere.error_message();
}

}  // namespace
}  // namespace kiln::service
