// A client with a list of coordinators, played by two farms over one store.
#include <gtest/gtest.h>

#include "api/client/audit_client.h"
#include "api/client/client.h"
#include "tests/api/support/fake_farm.h"

namespace kiln::client {
namespace {

using testing_support::FakeFarm;
using testing_support::jobIn;

struct FailoverTest : testing::Test {
  testing_support::TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  FakeFarm first{*store}, second{*store};
  std::vector<std::string> moves;  // "FROM>TO"

  // Without any wait: whoever fails over does so at once.
  std::unique_ptr<Client> connect() {
    ClientOptions options;
    options.endpoint = first.endpoint() + "," + second.endpoint();
    options.deadline = std::chrono::seconds(5);
    options.movedOn = [this](const std::string& from, const std::string& to) {
      moves.push_back(from + ">" + to);
    };
    return std::move(*Client::open(std::move(options)));
  }
  std::string move() const { return first.endpoint() + ">" + second.endpoint(); }
};

TEST_F(FailoverTest, TheFirstIsAskedWhileItAnswers) {
  const auto client = connect();
  ASSERT_TRUE(client->submit({}));
  ASSERT_TRUE(client->submit({}));
  EXPECT_EQ(first.script.submitted.size(), 2u);
  EXPECT_TRUE(second.script.submitted.empty());
  EXPECT_TRUE(moves.empty());
}

TEST_F(FailoverTest, TheNextIsAskedAtOnceWhereNobodyListens) {
  const auto client = connect();
  first.stop();
  ASSERT_TRUE(client->submit({}));
  ASSERT_TRUE(client->submit({}));
  EXPECT_EQ(second.script.submitted.size(), 2u);
  EXPECT_EQ(moves, std::vector<std::string>{move()}) << "told once, by which answers";
}

// A coordinator that starts or stops, or has lost its database.
TEST_F(FailoverTest, TheNextIsAskedWhereOneSaysThatItIsAway) {
  const auto client = connect();
  first.script.submit = [](const v1::SubmitJobRequest&, v1::Job*) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping");
  };
  ASSERT_TRUE(client->submit({}));
  EXPECT_EQ(second.script.submitted.size(), 1u);
  EXPECT_EQ(first.script.submitted.at(0).idempotency_key(), second.script.submitted.at(0).idempotency_key());
}

TEST_F(FailoverTest, ARefusalIsNotAskedForAgain) {
  const auto client = connect();
  first.script.submit = [](const v1::SubmitJobRequest&, v1::Job*) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no such operator");
  };
  EXPECT_EQ(client->submit({}).error().message, "no such operator");
  EXPECT_TRUE(second.script.submitted.empty());
}

TEST_F(FailoverTest, WhereAllAreAwayTheErrorNamesThem) {
  const auto client = connect();
  second.script.submit = [](const v1::SubmitJobRequest&, v1::Job*) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping");
  };
  first.stop();
  EXPECT_EQ(client->submit({}).error().message, second.endpoint() + ": stopping")
      << "what one of them said is worth more than that the other is not there";
  second.stop();
  const Error error = client->job("x").error();
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_NE(error.message.find("not reachable at " + first.endpoint() + " and " + second.endpoint()),
            std::string::npos)
      << error.message;
}

TEST_F(FailoverTest, AWatchGoesOnAtTheNextAndTellsEachChangeOnce) {
  const auto client = connect();
  first.script.watch = {jobIn(v1::JOB_QUEUED, 1), jobIn(v1::JOB_RUNNING, 2)};  // and breaks off
  second.script.watch = {jobIn(v1::JOB_RUNNING, 2), jobIn(v1::JOB_RUNNING, 3), jobIn(v1::JOB_SUCCEEDED, 4)};
  std::vector<std::uint64_t> seen;
  const auto job = client->watch("job-1", [&](const v1::Job& now) -> Status {
    seen.push_back(now.revision());
    return {};
  });
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->state(), v1::JOB_SUCCEEDED);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(moves, std::vector<std::string>{move()});
}

TEST_F(FailoverTest, AWatchThatItsReceiverEndsIsOver) {
  const auto client = connect();
  first.script.watch = second.script.watch = {jobIn(v1::JOB_RUNNING, 1), jobIn(v1::JOB_SUCCEEDED, 2)};
  int times = 0;
  const auto job = client->watch("job-1", [&](const v1::Job&) -> Status {
    ++times;
    return fail(Code::kUnavailable, "the terminal is gone");
  });
  EXPECT_EQ(job.error().message, "the terminal is gone");
  EXPECT_EQ(times, 1);
}

// What may be done once is sent to one, and to no other if that fails.
TEST_F(FailoverTest, WhatIsCalledOnceIsSentOnce) {
  const auto client = connect();
  first.stop();
  ASSERT_TRUE(client->addTombstone("sha256:" + std::string(64, '0'), "why"));
  EXPECT_EQ(second.script.tombstones.size(), 1u);
  EXPECT_EQ(moves, std::vector<std::string>{move()});
}

TEST_F(FailoverTest, UploadsAndAuditsGoToWhoeverAnswers) {
  const auto client = connect();
  first.stop();
  const storage::UploadItem item{digestOf("bytes"), "", "bytes"};
  ASSERT_TRUE(client->upload({&item, 1}));
  EXPECT_TRUE(store->findMissing("default", {&item.digest, 1})->empty());
  AuditClient audit(*client);
  EXPECT_EQ(audit.affected({}).error().code, Code::kUnimplemented) << "the second farm has no such service";
}

TEST_F(FailoverTest, EachIsPinged) {
  const auto client = connect();
  first.stop();
  const auto answers = client->pingEach();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].first, first.endpoint());
  EXPECT_FALSE(answers[0].second);
  EXPECT_EQ(answers[1].first, second.endpoint());
  EXPECT_TRUE(answers[1].second);
}

}  // namespace
}  // namespace kiln::client
