// How long runs took, as it is counted when they end, and what is expected from it.
#include "storage/index/jobs/duration_repository.h"

#include "tests/coordinator/queue/fleet_fixture.h"

namespace kiln::queue {
namespace {

using namespace testing;
using index::Expectation;
using index::Subject;

class Durations : public FleetTest {
 protected:
  static Subject model(const std::string& name, int magnitude = 20) {
    Subject subject{digestOf(name), magnitude};
    subject.content.size = 0;
    return subject;
  }
  // Another job of an instance, whose one run ends after so many seconds.
  void took(double time, const Subject& subject, const std::string& instance = "default", int exitCode = 0) {
    const std::string name = "j" + std::to_string(next_++);
    index::JobSnapshot job = jobWithRuns(name, name, 1, instance);
    job.runs[0].subject = subject;
    insert(job);
    const auto run = acquire("w1");
    ASSERT_TRUE(run);
    index::ResultRecord result = resultOf(*run);
    result.exitCode = exitCode;
    result.recorded =
        result.leased + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(time));
    const auto done = connection_.transact([&](Connection& c) {
      return queue_.complete(c, {run->id, run->epoch, {run->worker, run->operatorName, {}}}, result);
    });
    EXPECT_TRUE(done && *done);
  }
  std::optional<Expectation> expected(const Subject& subject, const std::string& target = "cpu:x86-64-v3",
                                      const std::string& instance = "default") {
    return index::expectationsOf(connection_, instance, {{index::ActionKind::kCompile, target, subject}})
        .value()
        .at(0);
  }
  int next_ = 0;
};

TEST_F(Durations, NothingIsExpectedWithoutARecord) {
  EXPECT_FALSE(expected(model("a")));
  took(10, model("a"));
  EXPECT_FALSE(expected(model("b", 21))) << "of another size";
  EXPECT_FALSE(expected(model("a"), "cpu:aarch64"));
  EXPECT_FALSE(expected(model("a"), "cpu:x86-64-v3", "other")) << "of another instance";
}

TEST_F(Durations, OfTheSameModelElseOfOnesOfItsSize) {
  took(10, model("a"));
  took(30, model("b"));
  EXPECT_DOUBLE_EQ(expected(model("a"))->seconds, 10);
  EXPECT_TRUE(expected(model("a"))->ofTheSubject);
  EXPECT_EQ(expected(model("a"))->runs, 1);
  EXPECT_DOUBLE_EQ(expected(model("c"))->seconds, 20);
  EXPECT_FALSE(expected(model("c"))->ofTheSubject);
  EXPECT_EQ(expected(model("c"))->runs, 2);
}

TEST_F(Durations, TheNewestCountForAFifthOnceThereAreFive) {
  for (int i = 0; i < 5; ++i) took(10, model("a"));
  took(60, model("a"));
  EXPECT_DOUBLE_EQ(expected(model("a"))->seconds, 20);
  took(20, model("a"));
  EXPECT_DOUBLE_EQ(expected(model("a"))->seconds, 20);
}

TEST_F(Durations, AFailureOfTheToolSaysNothing) {
  took(1, model("a"), "default", 3);
  EXPECT_FALSE(expected(model("a")));
}

TEST_F(Durations, AClockThatWasPutBackMakesNoneNegative) {
  took(-100, model("a"));
  EXPECT_DOUBLE_EQ(expected(model("a"))->seconds, 0);
}

// Every result of an instance counts in the same row of its size.
TEST_F(Durations, NobodyWaitsForAnotherToCount) {
  took(10, model("a"));
  Connection other = *Connection::open(options_);
  RunRecord run = runOf("j0");
  const Status done = connection_.transact([&](Connection& c) -> Status {
    KILN_TRY(index::recordDuration(c, run, 20));
    return other.transact([&](Connection& o) -> Status {
      KILN_TRY(o.execute("SET LOCAL lock_timeout = '1s'"));
      return index::recordDuration(o, run, 40);
    });
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(expected(model("a"))->runs, 2);
}

}  // namespace
}  // namespace kiln::queue
