// Clusters that fail, fall silent, lose what they had, or die.
#include <fmt/core.h>

#include <thread>

#include "tests/worker/cluster/cluster_fixture.h"

namespace kiln::cluster {
namespace {

using testing::HasSubstr;

using ClusterFailures = ClusterFixture;

// Of what Execute may end with, and of what an operation may end with.
TEST_F(ClusterFailures, ErrorsOfTheClusterAreForAnotherWorker) {
  for (const auto code :
       {grpc::INVALID_ARGUMENT, grpc::PERMISSION_DENIED, grpc::UNIMPLEMENTED, grpc::OUT_OF_RANGE,
        grpc::DATA_LOSS, grpc::RESOURCE_EXHAUSTED, grpc::FAILED_PRECONDITION, grpc::UNAUTHENTICATED}) {
    cluster_.executed = 0;
    cluster_.executes = {[&](grpc::ServerContext&, grpc::ServerWriter<Operation>&) {
      return grpc::Status(code, "no\x1b[31m");
    }};
    EXPECT_THAT(refusal(), HasSubstr("the cluster refuses the action: "));
    EXPECT_THAT(refusalOf([&](reapi::ExecuteResponse& response) {
                  response.mutable_status()->set_code(code);
                  response.mutable_status()->set_message("no");
                }),
                HasSubstr("the cluster did not run the action"));
    cluster_.lie = [](reapi::ExecuteResponse&) {};
  }
}

TEST_F(ClusterFailures, ATimeLimitIsBelievedOnceItHasPassed) {
  const auto timedOut = [](reapi::ExecuteResponse& response) {
    response.mutable_status()->set_code(grpc::DEADLINE_EXCEEDED);
  };
  EXPECT_THAT(refusalOf(timedOut), HasSubstr("UNAVAILABLE"));
  cluster_.executed = 0;
  cluster_.executes = {[&](grpc::ServerContext&, grpc::ServerWriter<Operation>& stream) {
    stream.Write(cluster_.update(reapi::ExecutionStage::EXECUTING));
    return cluster_.finish(stream);
  }};
  const auto done = runner_->run(lease_, 0, cancel_, [&](const std::string& stage) {
    if (stage == "cluster-runs") clock_.advance(std::chrono::seconds(600));
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kDeadlineExceeded);
}

// Streams that say for ever that the action waits, or runs.
TEST_F(ClusterFailures, NothingIsWaitedForWithoutEnd) {
  for (const auto& [stage, message] :
       {std::pair{reapi::ExecutionStage::QUEUED, "has waited for more than 60 s"},
        {reapi::ExecutionStage::EXECUTING, "has not ended 60 s after its time limit of 600 s"}}) {
    cluster_.executed = 0;
    cluster_.executes = {[&](grpc::ServerContext& context, grpc::ServerWriter<Operation>& stream) {
      while (!context.IsCancelled() && stream.Write(cluster_.update(stage))) {
        clock_.advance(std::chrono::seconds(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // it is read before the limit is over
      }
      return grpc::Status::CANCELLED;
    }};
    EXPECT_THAT(refusal(), HasSubstr(message));
  }
  EXPECT_THAT(cluster_.operations.names(), testing::ElementsAre("operations/1", "operations/1"))
      << "what is given up does not keep the cluster busy";
}

// Of a platform that no worker has, some clusters say nothing at all.
TEST_F(ClusterFailures, ASilentClusterIsNotWaitedForEither) {
  // A server notices late that a stream on which it says nothing is gone.
  const auto over = std::make_shared<std::atomic<bool>>(false);
  cluster_.executes = {[&, over](grpc::ServerContext&, grpc::ServerWriter<Operation>&) {
    clock_.advance(std::chrono::seconds(61));
    while (!*over) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  }};
  const std::string said = refusal();
  *over = true;
  EXPECT_THAT(said, HasSubstr("the cluster has no free worker of this platform, or none at all"));
  EXPECT_EQ(cluster_.executed, 1);
  EXPECT_THAT(cluster_.operations.names(), testing::IsEmpty()) << "it has not named an operation";
}

// And others name it, as Buildbarn does.
TEST_F(ClusterFailures, APlatformThatNobodyHasIsRefusedWithTheClustersWords) {
  cluster_.executes = std::vector<Answer>(10, [](grpc::ServerContext&, grpc::ServerWriter<Operation>&) {
    return grpc::Status(grpc::UNAVAILABLE, "No workers exist for this platform");
  });
  EXPECT_THAT(refusal(),
              HasSubstr("the cluster did not take the action, asked 5 times: UNAVAILABLE: No workers exist"));
}

TEST_F(ClusterFailures, AClusterThatDiesInTheMiddleIsGivenUp) {
  std::jthread end;
  cluster_.executes = {[&](grpc::ServerContext& context, grpc::ServerWriter<Operation>& stream) {
    stream.Write(cluster_.update(reapi::ExecutionStage::EXECUTING));
    end = std::jthread([&] { cluster_.die(); });
    while (!context.IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  }};
  EXPECT_THAT(refusal(), HasSubstr("the cluster's answer was lost 5 times: "));
  EXPECT_EQ(cluster_.executed, 1);
}

// It has neither the operation nor the inputs any more.
TEST_F(ClusterFailures, AClusterThatComesBackEmptyGetsTheInputsAndTheActionAgain) {
  std::jthread restart;
  cluster_.executes = {
      [&](grpc::ServerContext& context, grpc::ServerWriter<Operation>& stream) {
        stream.Write(cluster_.update(reapi::ExecutionStage::EXECUTING));
        restart = std::jthread([&] {
          cluster_.die();
          for (const Digest& one : {model_, root_, *fromProto(cluster_.lastRequest.action_digest())})
            cluster_.blobs.forget(one);
          cluster_.start();
        });
        while (!context.IsCancelled()) std::this_thread::yield();
        return grpc::Status::CANCELLED;
      },
      [&](grpc::ServerContext&, grpc::ServerWriter<Operation>&) {
        std::vector<std::string> subjects;
        for (const Digest& one : {model_, root_, *fromProto(cluster_.lastRequest.action_digest())})
          if (!cluster_.blobs.has(one)) subjects.push_back(fmt::format("blobs/{}/{}", one.hex(), one.size));
        const google::rpc::Status status = LyingCluster::missing(subjects);
        return grpc::Status(grpc::FAILED_PRECONDITION, status.message(), status.SerializeAsString());
      }};
  cluster_.waits = std::vector<Answer>(5, [](grpc::ServerContext&, grpc::ServerWriter<Operation>&) {
    return grpc::Status(grpc::NOT_FOUND, "no such operation");
  });
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(cluster_.executed, 3);
  for (const Digest& one : {model_, root_, *fromProto(cluster_.lastRequest.action_digest())})
    EXPECT_TRUE(cluster_.blobs.has(one));
}

TEST_F(ClusterFailures, ABrokenStreamIsTakenUpAgain) {
  cluster_.executes = {[&](grpc::ServerContext&, grpc::ServerWriter<Operation>& stream) {
    stream.Write(cluster_.update(reapi::ExecutionStage::EXECUTING));
    return grpc::Status(grpc::UNAVAILABLE, "a node went away");
  }};
  cluster_.waits = {[&](grpc::ServerContext&, grpc::ServerWriter<Operation>& stream) {
    stream.Write(cluster_.update(reapi::ExecutionStage::EXECUTING));
    return grpc::Status::OK;  // ends, and the operation has not
  }};
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(cluster_.executed, 1);
  EXPECT_EQ(cluster_.waited, 2);
  EXPECT_THAT(stages_, testing::Contains("cluster-runs").Times(1));
}

TEST_F(ClusterFailures, AnOperationThatIsGoneIsExecutedAgain) {
  cluster_.executes = {[&](grpc::ServerContext&, grpc::ServerWriter<Operation>& stream) {
    stream.Write(cluster_.update(reapi::ExecutionStage::EXECUTING));
    return grpc::Status(grpc::UNAVAILABLE, "the scheduler restarts");
  }};
  cluster_.waits = {[](grpc::ServerContext&, grpc::ServerWriter<Operation>&) {
    return grpc::Status(grpc::NOT_FOUND, "no such operation");
  }};
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(cluster_.executed, 2);
}

TEST_F(ClusterFailures, StreamsThatAlwaysBreakAreGivenUp) {
  const Answer cut = [&](grpc::ServerContext&, grpc::ServerWriter<Operation>& stream) {
    stream.Write(cluster_.update(reapi::ExecutionStage::EXECUTING));
    return grpc::Status(grpc::UNAVAILABLE, "gone");
  };
  cluster_.executes = cluster_.waits = std::vector<Answer>(10, cut);
  EXPECT_THAT(refusal(), HasSubstr("the cluster's answer was lost 5 times: UNAVAILABLE: gone"));
}

TEST_F(ClusterFailures, EvictedInputsAreSentAgainWhateverTheClusterClaims) {
  ASSERT_TRUE(run());
  cluster_.blobs.forget(model_);
  cluster_.blobs.claimsAll = true;  // a cache of what exists that is stale
  cluster_.executed = 0;
  cluster_.executes = {[&](grpc::ServerContext&, grpc::ServerWriter<Operation>& stream) {
    Operation operation = cluster_.update(reapi::ExecutionStage::COMPLETED);
    operation.set_done(true);
    reapi::ExecuteResponse response;
    *response.mutable_status() =
        LyingCluster::missing({fmt::format("blobs/{}/{}", model_.hex(), model_.size)});
    operation.mutable_response()->PackFrom(response);
    stream.Write(operation);
    return grpc::Status::OK;
  }};
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(cluster_.blobs.has(model_));
}

TEST_F(ClusterFailures, InputsThatAreAlwaysMissingAreGivenUpAndNothingElseIsSent) {
  const Digest secret = put("another tenant's model");
  const Answer missing = [&](grpc::ServerContext&, grpc::ServerWriter<Operation>&) {
    const google::rpc::Status status = LyingCluster::missing(
        {fmt::format("blobs/{}/{}", secret.hex(), secret.size),
         fmt::format("name/blobs/{}/{}", model_.hex(), model_.size), "blobs/x/y", "blobs/"});
    return grpc::Status(grpc::FAILED_PRECONDITION, status.message(), status.SerializeAsString());
  };
  cluster_.executes = std::vector<Answer>(10, missing);
  EXPECT_THAT(refusal(), HasSubstr("has lost inputs of the action 3 times"));
  EXPECT_EQ(cluster_.executed, 3);
  EXPECT_FALSE(cluster_.blobs.has(secret));
}

TEST_F(ClusterFailures, ACancelledLeaseClosesTheStreamAndCancelsTheOperation) {
  cluster_.executes = {[&](grpc::ServerContext& context, grpc::ServerWriter<Operation>& stream) {
    stream.Write(cluster_.update(reapi::ExecutionStage::EXECUTING));
    while (!context.IsCancelled()) std::this_thread::yield();
    cluster_.cancelled = true;
    return grpc::Status::CANCELLED;
  }};
  // Once it is known which operation it is.
  const auto done = runner_->run(lease_, 0, cancel_, [&](const std::string& stage) {
    if (stage == "cluster-runs") cancel_.request();
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kCancelled);
  while (!cluster_.cancelled) std::this_thread::yield();
  EXPECT_THAT(cluster_.operations.names(), testing::ElementsAre("operations/1"));
}

}  // namespace
}  // namespace kiln::cluster
