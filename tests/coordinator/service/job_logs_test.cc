// GetLogs: what the tools of a job's actions wrote, in the order of the actions, bounded; and who is told
// what when there is none.
#include "coordinator/service/job_logs.h"

#include "tests/coordinator/service/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::ToolOutcome;

class JobLogs : public FarmTest {
 protected:
  JobLogs() { EXPECT_TRUE(addToolchain(putToolchain()).ok()); }

  grpc::Status logs(const std::string& job, v1::JobLogs& out, const std::string& worker = "",
                    const std::string& target = "", const std::string& instance = "default") {
    v1::GetLogsRequest request;
    request.set_instance(instance);
    request.set_job(job);
    request.set_worker(worker);
    request.set_target(target);
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
  EXPECT_NE(other.error_message().find("kiln jobs JOB"), std::string::npos) << other.error_message();
}

TEST_F(JobLogs, ALongOneIsItsEnd) {
  const v1::Job job = failedWith(std::string(100'000, 'x') + "the end\n");
  v1::JobLogs out;
  ASSERT_TRUE(logs(job.id(), out).ok());
  const auto& log = out.logs(out.logs_size() - 1);
  EXPECT_EQ(log.text().size(), kMostOfALog);
  EXPECT_TRUE(log.text().ends_with("xthe end\n"));
  EXPECT_TRUE(log.truncated());
}

TEST_F(JobLogs, TogetherFitAnAnswer) {
  index::JobSnapshot snapshot;
  snapshot.actions = {{index::ActionKind::kCompile, "cpu:x86-64-v3", digestOf("action"), {}}};
  reapi::ActionResult result;
  result.set_stderr_raw(std::string(kMostOfALog - 1, 'x'));
  for (int i = 0; i < 100; ++i) {
    index::ResultRecord record;
    record.action = digestOf("action");
    record.worker = "w" + std::to_string(i);
    record.result = result.SerializeAsString();
    snapshot.results.push_back(record);
  }
  const auto out = logsOf(snapshot, {});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->logs_size(), 100);
  EXPECT_LE(out->ByteSizeLong(), kMostOfAllLogs + (64u << 10));
  EXPECT_FALSE(out->logs(0).truncated());
  EXPECT_TRUE(out->logs(99).truncated());
}

TEST_F(JobLogs, ThatOfASuccessIsCutToItsOwnLength) {
  index::JobSnapshot snapshot;
  snapshot.actions = {{index::ActionKind::kCompile, "cpu:x86-64-v3", digestOf("action"), {}}};
  for (const std::size_t size : {kMostOfASuccess - 1, kMostOfASuccess}) {
    reapi::ActionResult result;
    result.set_stderr_raw(std::string(size, 'x'));
    index::ResultRecord record;
    record.action = digestOf("action");
    record.result = result.SerializeAsString();
    snapshot.results.push_back(record);
  }
  const auto out = logsOf(snapshot, {});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_FALSE(out->logs(0).truncated());
  EXPECT_TRUE(out->logs(1).truncated());
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
