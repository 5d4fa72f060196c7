#include "coordinator/rpc/contacts.h"

#include <gtest/gtest.h>

#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service::testing {
namespace {

constexpr Duration kLease = std::chrono::seconds(60);

class ContactsTest : public FarmTest {
 protected:
  // The worker calls at that time after the start.
  void call(const std::string& name, Duration after) {
    index::WorkerRecord worker{
        .name = name, .operatorName = "op", .description = "d", .peerAddress = "10.0.0.1"};
    worker.certificate = worker.key = digestOf(name);
    worker.firstContact = worker.lastContact = clock_.now() + after;
    const Status told = contacts_.remember(worker);
    EXPECT_TRUE(told) << told.error().message;
  }
  int stored() { return pool_.execute("SELECT 1 FROM fleet")->size(); }

  Contacts contacts_{farm_.stores, kLease};
};

// Times are written many at once, so that a worker may learn from another's call that it has to be stored
// anew.
TEST_F(ContactsTest, WhoseRowIsGoneIsStoredAgainAtItsNextCall) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  call("w1", seconds(0));
  call("w2", seconds(0));
  ASSERT_EQ(stored(), 2);
  call("w1", seconds(20));                      // written at once
  call("w2", seconds(20) + milliseconds(500));  // waits for others
  ASSERT_TRUE(pool_.execute("DELETE FROM fleet WHERE name = 'w2'"));
  call("w1", seconds(22));  // writes the time of w2, which has no row
  EXPECT_EQ(stored(), 1);
  call("w2", seconds(23));
  EXPECT_EQ(stored(), 2);
}

}  // namespace
}  // namespace kiln::service::testing
