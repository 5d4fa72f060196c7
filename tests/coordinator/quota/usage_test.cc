#include "coordinator/quota/usage.h"

#include "manifest/json/json.h"
#include "storage/index/log/log_repository.h"
#include "tests/coordinator/queue/fleet_fixture.h"

namespace kiln::quota {
namespace {

using queue::testing::FleetTest;
using namespace index::testing;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// 500,000 hours are at 08:00 of a day.
class UsageTest : public FleetTest {
 protected:
  Status take(std::int64_t bytes, Resource resource = Resource::kUploadedBytes,
              const std::string& instance = "a") {
    return takeBytes(connection_, quota_, instance, resource, bytes, clock_.now());
  }
  Status left(Resource resource, const std::string& instance = "a") {
    return checkLeft(connection_, quota_, instance, resource, clock_.now());
  }
  // What the error says of the time to come again; -1 for nothing.
  static std::int64_t retry(const Status& status) {
    EXPECT_FALSE(status);
    if (status) return 0;
    EXPECT_EQ(status.error().code, Code::kResourceExhausted) << status.error().message;
    const auto details = parseJson(status.error().details);
    return details && details->is_object() ? details->value("retryAfterSeconds", std::int64_t{-1}) : -1;
  }
  void logEntry(const std::string& text, const std::string& instance = "a") {
    const auto added = index::addSignature(
        connection_, {instance, {digestOf(text).hash, 0}, text, "leaf of " + text, clock_.now()});
    ASSERT_TRUE(added) << added.error().message;
  }

  Quota quota_{
      .storedBytes = 1000, .uploadedBytesPerHour = 100, .logEntriesPerDay = 2, .gpuMinutesPerDay = 2};
};

TEST_F(UsageTest, BytesAreTakenUpToTheLimitAndNotBeyond) {
  EXPECT_TRUE(take(60));
  EXPECT_FALSE(take(50));
  EXPECT_TRUE(take(40));
  EXPECT_TRUE(take(60, Resource::kUploadedBytes, "b")) << "another instance has its own";
  EXPECT_TRUE(take(500, Resource::kStoredBytes)) << "and so has another resource";
  EXPECT_FALSE(left(Resource::kUploadedBytes));
  EXPECT_TRUE(left(Resource::kStoredBytes));
}

TEST_F(UsageTest, ANewHourBeginsAtNothing) {
  clock_.advance(minutes(40));
  ASSERT_TRUE(take(100));
  EXPECT_EQ(retry(take(1)), 20 * 60);
  clock_.advance(minutes(20));
  EXPECT_TRUE(take(100));
  EXPECT_EQ(retry(take(1)), 3600);
}

TEST_F(UsageTest, WhatIsStoredHasNoWindow) {
  ASSERT_TRUE(take(1000, Resource::kStoredBytes));
  clock_.advance(hours(100));
  EXPECT_EQ(retry(take(1, Resource::kStoredBytes)), 3600);
  EXPECT_NE(left(Resource::kStoredBytes).error().message.find("kiln gc"), std::string::npos);
}

TEST_F(UsageTest, WhatNeverFitsIsNotToBeTriedAgain) {
  const Status never = take(101);
  EXPECT_EQ(retry(never), -1);
  EXPECT_NE(never.error().message.find("uploadedBytesPerHour of instance a allows 100"), std::string::npos)
      << never.error().message;
  EXPECT_TRUE(take(100)) << "it took nothing";
}

TEST_F(UsageTest, WhatIsGivenBackMayBeTakenAgain) {
  const TimePoint then = clock_.now();
  ASSERT_TRUE(take(100));
  ASSERT_TRUE(giveBytesBack(connection_, "a", Resource::kUploadedBytes, 30, then));
  EXPECT_TRUE(take(30));
  clock_.advance(hours(1));
  ASSERT_TRUE(take(100));
  ASSERT_TRUE(giveBytesBack(connection_, "a", Resource::kUploadedBytes, 70, then))
      << "of an hour that is over";
  EXPECT_FALSE(take(1));
}

TEST_F(UsageTest, WithoutALimitThereIsNone) {
  quota_ = {};
  EXPECT_TRUE(take(std::int64_t{1} << 60));
  for (const Resource each : {Resource::kStoredBytes, Resource::kLogEntries, Resource::kGpuSeconds})
    EXPECT_TRUE(left(each));
}

TEST_F(UsageTest, EntriesOfTheLogCountForADay) {
  logEntry("1"), logEntry("2", "b");
  EXPECT_TRUE(left(Resource::kLogEntries));
  logEntry("3"), logEntry("3");
  EXPECT_EQ(retry(left(Resource::kLogEntries)), 16 * 3600) << "the same statement again is no entry";
  EXPECT_TRUE(left(Resource::kLogEntries, "b"));
  clock_.advance(hours(16));
  EXPECT_TRUE(left(Resource::kLogEntries));
}

// Runs of instance a on "target", leased and ended after `took`.
class GpuTime : public UsageTest {
 protected:
  void check(const std::string& target, Duration took, bool emulated = false, bool cancelled = false) {
    const std::string name = "j" + std::to_string(next_++);
    index::JobSnapshot job = jobWithRuns(name, name, 1, "a", clock_.now());
    job.runs[0].kind = index::ActionKind::kCheck;
    job.runs[0].target = target;
    job.runs[0].emulated = emulated;
    insert(job);
    const queue::Claim claim{
        {"w1", "op", {}},
        {},
        {{"gpu0", {"cuda:sm_80"}, emulated}, {"gpu1", {"cuda:sm_90"}, emulated}, {"cpu", {"cpu:x86-64-v3"}}},
        {index::ActionKind::kCheck},
        {}};
    const auto run = connection_.transact([&](postgres::Connection& c) { return queue_.acquire(c, claim); });
    ASSERT_TRUE(run && *run) << target;
    clock_.advance(took);
    if (cancelled)
      ASSERT_TRUE(connection_.transact([&](postgres::Connection& c) {
        return index::endJob(c, {"a", name}, index::JobState::kCancelled, {}, clock_.now());
      }));
    else
      ASSERT_TRUE(complete(**run));
  }
  std::int64_t counted() {
    auto rows =
        *connection_.execute("SELECT coalesce(sum(amount), 0)::bigint AS n FROM usage WHERE resource = 4");
    return rows.first([](const postgres::Row& row) { return row.get<std::int64_t>("n"); })->value();
  }
  int next_ = 0;
};

TEST_F(GpuTime, OfEachGpuThatALeaseHeldCounts) {
  check("cuda:sm_80", seconds(20));
  EXPECT_EQ(counted(), 20);
  check("cuda:sm_80,cuda:sm_90", seconds(10));
  EXPECT_EQ(counted(), 40);
  check("cuda:sm_80,cpu:x86-64-v3", seconds(10));
  EXPECT_EQ(counted(), 50) << "the processor is none";
  check("cpu:x86-64-v3", seconds(10));
  check("cuda:sm_80", seconds(10), true);
  EXPECT_EQ(counted(), 50) << "nor is an emulated device";
  check("cuda:sm_80", seconds(5), false, true);
  EXPECT_EQ(counted(), 55) << "however the lease ends";
}

TEST_F(GpuTime, IsUsedUpForTheDay) {
  check("cuda:sm_80", seconds(119));
  EXPECT_TRUE(left(Resource::kGpuSeconds));
  check("cuda:sm_80", seconds(1));
  EXPECT_EQ(retry(left(Resource::kGpuSeconds)), 16 * 3600 - 120);
}

TEST_F(UsageTest, ACollectionCorrectsWhatIsStored) {
  ASSERT_TRUE(take(700, Resource::kStoredBytes));
  const StoredBytes before = *storedBytes(connection_);
  EXPECT_EQ(before, (StoredBytes{{"a", 700}}));
  ASSERT_TRUE(take(100, Resource::kStoredBytes)) << "while it collects";
  ASSERT_TRUE(correctStoredBytes(connection_, {{"a", 300}, {"b", 20}}, before));
  EXPECT_EQ(*storedBytes(connection_), (StoredBytes{{"a", 400}, {"b", 20}}));
}

}  // namespace
}  // namespace kiln::quota
