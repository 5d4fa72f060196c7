// Foreign actions from Execute to the client's result, and never to evidence.
#include <gmock/gmock.h>

#include "tests/coordinator/drivers/execution_fixture.h"

namespace kiln::service::testing {
namespace {

using reapi::ExecutionStage;
using ::testing::ElementsAre;

class ExecutionFlow : public ExecutionTest {};

TEST_F(ExecutionFlow, AnActionIsExecutedOnceAndThenAnsweredFromTheCache) {
  const Digest action = putAction("a");
  const auto updates = execute(action);
  const auto queued = updates->next();
  ASSERT_TRUE(queued) << updates->end().error_message();
  EXPECT_FALSE(queued->done());
  EXPECT_EQ(stageOf(*queued), ExecutionStage::QUEUED);
  clock_.advance(std::chrono::seconds(3));
  const v1::Lease lease = leaseOf(*one_);
  EXPECT_EQ(lease.kind(), v1::ACTION_EXECUTE);
  feed_.publishJob({"default", lease.job()});
  const auto begun = updates->next();
  ASSERT_TRUE(begun);
  EXPECT_EQ(stageOf(*begun), ExecutionStage::EXECUTING);
  clock_.advance(std::chrono::seconds(4));
  finish(lease, leaving("made"));
  const Operation ended = updates->last();
  EXPECT_TRUE(updates->end().ok());
  EXPECT_EQ(ended.name(), queued->name());
  EXPECT_EQ(stageOf(ended), ExecutionStage::COMPLETED);
  const reapi::ExecuteResponse first = responseOf(ended);
  EXPECT_FALSE(first.cached_result());
  EXPECT_EQ(first.status().code(), 0);
  EXPECT_EQ(first.result().output_files(0).path(), "out.txt");
  EXPECT_EQ(first.result().stdout_raw(), "said");
  const auto& metadata = first.result().execution_metadata();
  EXPECT_EQ(metadata.worker(), "w1");
  EXPECT_EQ(metadata.worker_start_timestamp().seconds() - metadata.queued_timestamp().seconds(), 3);
  EXPECT_EQ(metadata.worker_completed_timestamp().seconds() - metadata.worker_start_timestamp().seconds(), 4);

  const reapi::ExecuteResponse again = responseOf(execute(action)->last());
  EXPECT_TRUE(again.cached_result());
  EXPECT_EQ(again.result().output_files(0).digest().hash(), digestOf(std::string_view("made")).hex());
  EXPECT_EQ(again.result().execution_metadata().worker(), "w1");
  EXPECT_TRUE(one_->poll().empty()) << "nobody ran it again";
}

TEST_F(ExecutionFlow, WhoSkipsTheCacheHasItExecutedAgain) {
  const Digest action = putAction("a");
  run(action, leaving("one"));
  const reapi::ExecuteResponse again = responseOf(run(action, leaving("two"), true));
  EXPECT_FALSE(again.cached_result());
  EXPECT_EQ(again.result().output_files(0).digest().hash(), digestOf(std::string_view("two")).hex());
}

TEST_F(ExecutionFlow, WhatMustNotBeCachedRunsEachTime) {
  reapi::Action action = this->action(command("volatile"));
  action.set_do_not_cache(true);
  const Digest digest = put(action.SerializeAsString());
  run(digest, leaving("one"));
  const reapi::ExecuteResponse again = responseOf(run(digest, leaving("two")));
  EXPECT_FALSE(again.cached_result());
  EXPECT_EQ(again.result().output_files(0).digest().hash(), digestOf(std::string_view("two")).hex());
}

TEST_F(ExecutionFlow, AFailingToolIsAResultThatIsNotCached) {
  const Digest action = putAction("fails");
  const reapi::ExecuteResponse first = responseOf(run(action, leaving("half", 3)));
  EXPECT_EQ(first.status().code(), 0);
  EXPECT_EQ(first.result().exit_code(), 3);
  EXPECT_EQ(first.result().output_files(0).path(), "out.txt");
  EXPECT_FALSE(responseOf(run(action, leaving("made"))).cached_result()) << "it ran again";
}

TEST_F(ExecutionFlow, AResultWhoseBytesAreGoneIsMadeAgain) {
  const Digest action = putAction("a");
  run(action, leaving("made"));
  lose(digestOf(std::string_view("made")));
  clock_.advance(std::chrono::seconds(1));
  EXPECT_FALSE(responseOf(run(action, leaving("made anew"))).cached_result());
  EXPECT_TRUE(responseOf(execute(action)->last()).cached_result()) << "which is whole again";
}

// REAPI: what was there for FindMissingBlobs may have gone since, and the client uploads it once more.
TEST_F(ExecutionFlow, InputsThatGoWhileItWaitsAreNamedForTheClient) {
  const Digest action = putAction("a");
  const auto updates = execute(action);
  ASSERT_TRUE(updates->next());
  const Digest input = digestOf(std::string_view("the input"));
  lose(input);
  failWith(leaseOf(*one_), Code::kNotFound, false);
  const reapi::ExecuteResponse response = responseOf(updates->last());
  EXPECT_EQ(response.status().code(), static_cast<int>(Code::kFailedPrecondition));
  EXPECT_THAT(missingOf(response.status()), ElementsAre(subjectOf(input)));
  put("the input");
  EXPECT_EQ(responseOf(run(action, leaving("made"))).status().code(), 0);
}

// All is there: it was the worker that did not get it, and another may.
TEST_F(ExecutionFlow, AWorkerWithoutItsInputsIsNoFaultOfTheClient) {
  const auto updates = execute(putAction("a"));
  ASSERT_TRUE(updates->next());
  failWith(leaseOf(*one_), Code::kNotFound, false);
  const reapi::ExecuteResponse response = responseOf(updates->last());
  EXPECT_EQ(response.status().code(), static_cast<int>(Code::kUnavailable)) << "which clients try again";
  EXPECT_EQ(response.status().details_size(), 0);
}

// The client's own limit: nobody else is asked, and the client is told so.
TEST_F(ExecutionFlow, ATimeLimitEndsItWithThat) {
  const auto two = executor("w2");
  reapi::Action action = this->action(command("slow"));
  action.mutable_timeout()->set_seconds(7);
  const auto updates = execute(put(action.SerializeAsString()));
  ASSERT_TRUE(updates->next());
  const v1::Lease lease = leaseOf(*one_);
  EXPECT_EQ(lease.time_limit().seconds(), 7);
  failWith(lease, Code::kDeadlineExceeded, false);
  const reapi::ExecuteResponse response = responseOf(updates->last());
  EXPECT_EQ(response.status().code(), static_cast<int>(Code::kDeadlineExceeded));
  EXPECT_FALSE(response.has_result());
  EXPECT_TRUE(two->poll().empty());
}

TEST_F(ExecutionFlow, AWorkerThatCannotIsFollowedByAnother) {
  const auto two = executor("w2");
  const auto updates = execute(putAction("a"));
  ASSERT_TRUE(updates->next());
  failWith(leaseOf(*one_), Code::kUnavailable, true);
  EXPECT_EQ(leaseOf(*two).kind(), v1::ACTION_EXECUTE);
}

TEST_F(ExecutionFlow, AResultThatTheCommandDoesNotDeclareIsRefused) {
  const auto updates = execute(putAction("lies"));
  ASSERT_TRUE(updates->next());
  const v1::Lease lease = leaseOf(*one_);
  reapi::ActionResult other = leaving("made");
  other.mutable_output_files(0)->set_path("other.txt");
  finish(lease, other);
  EXPECT_TRUE(pool_.execute("SELECT FROM action_results")->empty());
}

// Trust does not move: the same action, executed for a client, proves nothing to a build.
TEST_F(ExecutionFlow, AnExecutedCompileIsNoEvidenceForABuild) {
  ASSERT_TRUE(addToolchain(putToolchain()).ok());
  const auto builder = worker("builder");
  const v1::Job planned = submitted(request("first"));
  std::optional<Digest> compile;
  for (const auto& action : planned.actions())
    if (action.kind() == v1::ACTION_COMPILE) compile = fromProto(action.action()).value();
  ASSERT_TRUE(compile);
  ASSERT_TRUE(pool_.execute("UPDATE jobs SET cancel_wanted = true WHERE id = $1", {planned.id()}));
  ASSERT_TRUE(advance(planned.id()));

  reapi::Tree tree;
  auto& file = *tree.mutable_root()->add_files();
  file.set_name("program.so");
  *file.mutable_digest() = toProto(put("a planted program"));
  reapi::ActionResult planted;
  planted.add_output_directories()->set_path("output");
  *planted.mutable_output_directories(0)->mutable_tree_digest() = toProto(put(tree.SerializeAsString()));
  EXPECT_EQ(responseOf(run(*compile, planted)).result().output_directories_size(), 1);

  const v1::Job build = submitted(request("second"));
  EXPECT_EQ(build.state(), v1::JOB_QUEUED) << "nothing of it is known";
  settle(build.id(), {builder.get()});
  const v1::Job done = get(build.id());
  EXPECT_EQ(done.state(), v1::JOB_SUCCEEDED) << done.error().message();
  for (const auto& action : done.actions())
    for (const auto& one : action.builders()) EXPECT_EQ(one.job(), build.id());
}

}  // namespace
}  // namespace kiln::service::testing
