#include "compiler_core/tuner/measurer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iterator>

#include "compiler_core/tuner/bench.h"

namespace kiln::tuner {
namespace {

using ::testing::HasSubstr;

// One of tests/compiler_core/runtime/programs.
KernelProgram programOf(const std::string& name) {
  std::ifstream file(std::string(KILN_TEST_PROGRAMS) + "/" + name + ".so", std::ios::binary);
  return {{std::istreambuf_iterator<char>(file), {}}, 64, 0};
}

class MeasurerTest : public ::testing::Test {
 protected:
  MeasurerTest() { ::signal(SIGPIPE, SIG_IGN); }
  Measurer measurer(std::function<bool()> shouldStop = {}) {
    const std::vector<KernelTensor> one = {{Element::kF32, 16}};
    return {{{one, one, one}, 1, *processorsFor(1)}, std::move(shouldStop)};
  }
  static Result<MeasureAnswer> tryOut(Measurer& measurer, std::uint64_t id, const std::string& program) {
    return measurer.tryOut(id, programOf(program), 3);
  }
};

TEST_F(MeasurerTest, AProgramThatEndsItsProcessTakesNothingAlong) {
  Measurer one = measurer();
  const auto good = tryOut(one, 0, "does_nothing");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->nanoseconds.size(), 3u);
  EXPECT_GE(good->runsPerSample, 1u);
  for (const char* name : {"traps", "writes_wildly"}) {
    const auto crashed = tryOut(one, 1, name);
    ASSERT_FALSE(crashed) << name;
    EXPECT_EQ(crashed.error().code, Code::kUnavailable);
    EXPECT_THAT(crashed.error().message, HasSubstr("ended by signal SIG"));
  }
  EXPECT_THAT(tryOut(one, 1, "fails").error().message, HasSubstr("returned 7"));
  // What was loaded before is there again.
  const auto again = one.sample(0, 5);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->nanoseconds.size(), 5u);
  EXPECT_EQ(tryOut(one, 2, "does_nothing")->results, good->results);
  EXPECT_EQ(one.sample(1, 1).error().code, Code::kNotFound);
  one.forget(2);
  EXPECT_EQ(one.sample(2, 1).error().code, Code::kNotFound);
}

TEST_F(MeasurerTest, AProgramThatHangsIsEndedAfterItsTime) {
  Measurer one = measurer();
  one.setLimit(std::chrono::milliseconds(300));
  EXPECT_EQ(tryOut(one, 0, "hangs").error().code, Code::kDeadlineExceeded);
  one.setLimit(std::chrono::seconds(60));
  EXPECT_TRUE(tryOut(one, 1, "does_nothing"));
}

TEST_F(MeasurerTest, WaitingEndsWhenSomebodyWantsItTo) {
  bool stop = false;
  Measurer one = measurer([&] { return std::exchange(stop, true); });
  one.setLimit(std::chrono::hours(1));
  const auto stopped = tryOut(one, 0, "hangs");
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace kiln::tuner
