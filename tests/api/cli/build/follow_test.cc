// kiln logs --follow: what tools said as soon as it is there, and the job's own end.
#include <gtest/gtest.h>

#include "manifest/json/json.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/support/fake_farm.h"

namespace kiln {
namespace {

using testing_support::jobIn;

struct KilnFollow : testing::Test {
  testing_support::TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  testing_support::FakeFarm farm{*store};

  testing_support::KilnResult follow(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"logs", "job-1", "--follow"});
    return testing_support::runKiln(more, {{"KILN_ENDPOINT", farm.endpoint()}}, directory.path());
  }
  void said(int attempt, const std::string& outcome, const std::string& text) {
    v1::JobLogs::Log& log = *farm.script.logs.add_logs();
    log.set_kind(v1::ACTION_COMPILE);
    log.set_attempt(attempt);
    log.set_outcome(outcome);
    log.mutable_builder()->set_worker("w1");
    log.mutable_builder()->set_job("job-1");
    log.set_text(text);
  }
};

TEST_F(KilnFollow, EachLogIsPrintedOnceUntilTheJobHasEnded) {
  farm.script.watch = {jobIn(v1::JOB_QUEUED, 1), jobIn(v1::JOB_RUNNING, 2), jobIn(v1::JOB_SUCCEEDED, 3)};
  said(1, "lost", "");
  said(2, "done", "stage: \x1b]0;owned\x07\n");
  const auto result = follow();
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(result.out,
            "compile, attempt 1 on w1: lost\n  (no result, so nothing of what it said)\n"
            "compile, attempt 2 on w1: exit code 0\n  stage: ?]0;owned?\n");
  EXPECT_EQ(follow({"--attempt", "2"}).out, "compile, attempt 2 on w1: exit code 0\n  stage: ?]0;owned?\n");
  EXPECT_NE(follow({"--json"}).out.find("\"logs\""), std::string::npos);
}

TEST_F(KilnFollow, AJobThatHasSaidNothingYetIsFollowedAllTheSame) {
  farm.script.watch = {jobIn(v1::JOB_QUEUED, 1), jobIn(v1::JOB_SUCCEEDED, 2)};
  const auto result = follow();
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST_F(KilnFollow, ItEndsAsTheJobDoes) {
  v1::Job failed = jobIn(v1::JOB_FAILED, 2);
  failed.mutable_error()->set_code(static_cast<int>(Code::kInvalidArgument));
  failed.mutable_error()->set_message("the model is none");
  failed.mutable_error()->set_exit_code(3);
  farm.script.watch = {jobIn(v1::JOB_RUNNING, 1), failed};
  said(1, "done", "no\n");
  const auto result = follow();
  EXPECT_EQ(result.exit, 3) << result.err;
  EXPECT_NE(result.out.find("  no\n"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("the model is none"), std::string::npos) << result.err;
  const auto json = follow({"--json"});
  EXPECT_EQ(json.exit, 3) << json.out;
  const auto document = parseJson(json.out);
  ASSERT_TRUE(document) << json.out;
  EXPECT_EQ(document->at("error").at("details").at("logs").at(0).at("text"), "no\n") << json.out;
}

}  // namespace
}  // namespace kiln
