// Operations by their names, and what becomes of executions that nobody waits for.
#include <gmock/gmock.h>

#include <functional>

#include "coordinator/jobs/execution_step.h"
#include "tests/coordinator/drivers/execution_fixture.h"

namespace kiln::service::testing {
namespace {

using reapi::ExecutionStage;
using std::chrono::seconds;

class ExecutionWatch : public ExecutionTest {
 protected:
  // An execution whose client has gone away by the time it is returned; its first update.
  Operation abandoned(const Digest& action) {
    const auto updates = execute(action);
    auto first = updates->next();
    EXPECT_TRUE(first);
    updates->giveUp();
    return first.value_or(Operation());
  }
  v1::JobState stateOf(const Operation& operation) { return get(jobOf(operation)).state(); }
  // Time passes until what nobody waits for has ended; `meanwhile` is done each time. A busy server may
  // notice late that a client has gone away, and counts from then.
  void passUnwatched(const Operation& operation, const std::function<void()>& meanwhile = [] {}) {
    for (int i = 0; i < 200 && stateOf(operation) != v1::JOB_CANCELLED; ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      clock_.advance(jobs::kUnwatchedFor);
      meanwhile();
      ASSERT_TRUE(advance(jobOf(operation)));
    }
  }
  // Later a watch has said that it waits.
  void passWatched(const Operation& operation, Duration time) {
    clock_.advance(time);
    feed_.publishJob({"default", jobOf(operation)});
    const auto isSaid = [&] {
      return pool_
                 .execute("SELECT FROM executions WHERE job_id = $1 AND watched = $2",
                          {jobOf(operation), clock_.now()})
                 ->size() == 1;
    };
    for (int i = 0; i < 1000 && !isSaid(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(isSaid());
  }
};

TEST_F(ExecutionWatch, AnOperationIsWaitedForByItsName) {
  const Operation first = abandoned(putAction("a"));
  const auto updates = wait(first.name());
  const auto queued = updates->next();
  ASSERT_TRUE(queued) << updates->end().error_message();
  EXPECT_EQ(queued->name(), first.name());
  EXPECT_EQ(stageOf(*queued), ExecutionStage::QUEUED);
  finish(leaseOf(*one_), leaving("made"));
  EXPECT_EQ(responseOf(updates->last()).result().output_files(0).path(), "out.txt");
  EXPECT_TRUE(updates->end().ok());

  const auto later = wait(first.name());
  const auto ended = later->next();
  ASSERT_TRUE(ended) << "what has ended still answers";
  EXPECT_EQ(responseOf(*ended).result().output_files(0).path(), "out.txt");
  EXPECT_FALSE(later->next());
}

TEST_F(ExecutionWatch, AnUnknownOperationIsNotFound) {
  const Operation first = abandoned(putAction("a"));
  ASSERT_TRUE(addToolchain(putToolchain()).ok());
  const auto builder = worker("builder");
  const std::string build = "default/operations/" + submitted(request("build")).id();
  for (const std::string& name :
       {std::string(), std::string("x"), std::string("default/operations/"),
        std::string("default/operations/none"), "other/operations/" + jobOf(first), first.name() + "/",
        first.name() + std::string("\0", 1), "default/operations/" + std::string(65, 'a'),
        std::string(100'000, 'a'), build}) {
    const auto updates = wait(name);
    EXPECT_FALSE(updates->next()) << name;
    EXPECT_EQ(updates->end().error_code(), grpc::StatusCode::NOT_FOUND) << name.substr(0, 200);
  }
  EXPECT_TRUE(wait("/operations/" + jobOf(first))->next()) << "the default instance";
}

TEST_F(ExecutionWatch, WhatNobodyWaitsForLeavesTheQueue) {
  const Operation first = abandoned(putAction("a"));
  clock_.advance(jobs::kUnwatchedFor - seconds(1));
  ASSERT_TRUE(advance(jobOf(first)));
  EXPECT_EQ(stateOf(first), v1::JOB_QUEUED);
  passUnwatched(first);
  EXPECT_EQ(stateOf(first), v1::JOB_CANCELLED);
  EXPECT_TRUE(one_->poll().empty());
  EXPECT_EQ(responseOf(wait(first.name())->last()).status().code(), static_cast<int>(Code::kCancelled));
}

TEST_F(ExecutionWatch, WhatNobodyWaitsForIsTakenFromItsWorker) {
  const Operation first = abandoned(putAction("a"));
  const v1::Lease lease = leaseOf(*one_);
  passUnwatched(first, [&] {
    ASSERT_TRUE(one_->synchronize({testing_support::FakeWorker::running(lease, "execute")}));
  });
  EXPECT_EQ(stateOf(first), v1::JOB_CANCELLED);
  const auto response = one_->synchronize({testing_support::FakeWorker::running(lease, "execute")});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->forget_size(), 1);
}

TEST_F(ExecutionWatch, WhoWaitsKeepsItQueuedAndBegun) {
  const auto updates = execute(putAction("a"));
  const auto first = updates->next();
  ASSERT_TRUE(first);
  passWatched(*first, jobs::kUnwatchedFor);
  ASSERT_TRUE(advance(jobOf(*first)));
  EXPECT_EQ(stateOf(*first), v1::JOB_QUEUED);
  leaseOf(*one_);
  EXPECT_TRUE(updates->next()) << "it has begun";
  passWatched(*first, jobs::kUnwatchedFor);
  ASSERT_TRUE(advance(jobOf(*first)));
  EXPECT_EQ(stateOf(*first), v1::JOB_RUNNING);
}

// A client that lost its stream executes the action again: the run that has begun is the one it waits for.
TEST_F(ExecutionWatch, WhoWaitsForAnEqualOneKeepsIt) {
  const Digest action = putAction("a");
  const Operation first = abandoned(action);
  const v1::Lease lease = leaseOf(*one_);
  const auto updates = execute(action);
  const auto second = updates->next();
  ASSERT_TRUE(second);
  EXPECT_NE(second->name(), first.name());
  EXPECT_EQ(leaseOf(*one_).id(), lease.id()) << "it runs once for both";
  passWatched(*second, jobs::kUnwatchedFor);
  ASSERT_TRUE(advance(jobOf(first)));
  EXPECT_EQ(stateOf(first), v1::JOB_RUNNING);
}

TEST_F(ExecutionWatch, AClientIsToldThatItsExecutionWasCancelled) {
  const auto updates = execute(putAction("a"));
  const auto first = updates->next();
  ASSERT_TRUE(first);
  v1::GetJobRequest request;
  request.set_instance("default");
  request.set_id(jobOf(*first));
  grpc::ClientContext context;
  v1::Job job;
  ASSERT_TRUE(jobStub_->CancelJob(&context, request, &job).ok());
  ASSERT_TRUE(advance(jobOf(*first)));
  const reapi::ExecuteResponse response = responseOf(updates->last());
  EXPECT_EQ(response.status().code(), static_cast<int>(Code::kCancelled));
  EXPECT_FALSE(response.has_result());
}

TEST_F(ExecutionWatch, AStoppingCoordinatorSendsItsClientsElsewhere) {
  const auto updates = execute(putAction("a"));
  ASSERT_TRUE(updates->next());
  feed_.close();
  updates->last();
  EXPECT_EQ(updates->end().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace kiln::service::testing
