#include "coordinator/queue/queue_depth.h"

#include <map>
#include <vector>

#include "tests/coordinator/queue/fleet_fixture.h"

namespace kiln::queue {
namespace {

using namespace testing;

class QueueDepth : public FleetTest {};

TEST_F(QueueDepth, ByInstanceKindAndState) {
  ASSERT_TRUE(queueDepth(connection_)->empty());
  call("w1");
  insert(jobWithRuns("a", "a", 2, "default", kStart));
  insert(jobWithRuns("b", "b", 1, "other", kStart + seconds(3)));
  ASSERT_TRUE(acquire("w1"));
  std::map<std::pair<std::string, bool>, Depth> found;
  const std::vector<Depth> depths = queueDepth(connection_).value();
  for (const Depth& depth : depths) {
    EXPECT_EQ(depth.kind, index::ActionKind::kCompile);
    found[{depth.instance, depth.leased}] = depth;
  }
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ((found[{"default", true}].runs), 1u);
  EXPECT_EQ((found[{"default", false}].runs), 1u);
  EXPECT_EQ((found[{"other", false}].runs), 1u);
  EXPECT_EQ((found[{"other", false}].oldest), kStart + seconds(3));
}

}  // namespace
}  // namespace kiln::queue
