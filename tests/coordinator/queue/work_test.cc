#include "coordinator/queue/work.h"

#include <gtest/gtest.h>

namespace kiln::queue {
namespace {

using index::ActionKind;

TEST(Work, IsReadAsTheTriggersWriteIt) {
  const auto work = parseWork("3 cpu:x86-64-v3,cuda:sm_90a an instance");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->kind, static_cast<ActionKind>(3));
  EXPECT_EQ(work->target, "cpu:x86-64-v3,cuda:sm_90a");
  EXPECT_EQ(work->instance, "an instance");
  EXPECT_EQ(parseWork("2  default")->target, "");
  for (const char* other : {"", "3", "3 cpu", "x cpu default", "3x cpu default", " cpu default"})
    EXPECT_FALSE(parseWork(other)) << other;
}

TEST(Interest, CoversWhatTheWorkerTakes) {
  const Interest all{{ActionKind::kCompile, ActionKind::kCheck}, {"a", "b"}, {"c"}, {}};
  EXPECT_TRUE(all.covers({ActionKind::kCompile, "a", "x"}));
  EXPECT_TRUE(all.covers({ActionKind::kCompile, "b,a", "x"}));
  EXPECT_TRUE(all.covers({ActionKind::kCompile, "", "x"}));
  EXPECT_FALSE(all.covers({ActionKind::kCompile, "a,c", "x"}));
  EXPECT_FALSE(all.covers({ActionKind::kFetch, "", "x"}));
  EXPECT_TRUE(all.covers({ActionKind::kCheck, "c", "x"})) << "a device executes it";
  EXPECT_FALSE(all.covers({ActionKind::kCheck, "a", "x"})) << "compiling for a target is not executing";
  Interest some = all;
  some.instances = std::vector<std::string>{"y"};
  EXPECT_FALSE(some.covers({ActionKind::kCompile, "a", "x"}));
  EXPECT_TRUE(some.covers({ActionKind::kCompile, "a", "y"}));
}

}  // namespace
}  // namespace kiln::queue
