#include "api/cli/view/farm_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/cli/view/farm_tables.h"

namespace kiln::cli {
namespace {

constexpr std::int64_t kNow = 1'790'000'000;
constexpr TerminalSize kRoomy{200, 100};

v1::Queue queue(const std::string& instance, std::uint64_t queued, std::uint64_t running) {
  v1::Queue out;
  out.set_instance(instance);
  out.set_weight(1);
  v1::Queue::Kind& kind = *out.add_kinds();
  kind.set_kind(v1::ACTION_COMPILE);
  kind.set_queued(queued);
  kind.set_running(running);
  if (queued > 0) {
    kind.mutable_oldest()->set_seconds(kNow - 725);
    kind.mutable_expected()->set_seconds(static_cast<std::int64_t>(queued) * 60);
  }
  return out;
}

v1::ListWorkersResponse::Worker worker(const std::string& name, const std::string& operatorName) {
  v1::ListWorkersResponse::Worker out;
  out.mutable_description()->set_name(name);
  out.mutable_description()->set_operator_(operatorName);
  out.mutable_description()->set_slots(2);
  v1::Device& device = *out.mutable_description()->add_devices();
  device.set_name("A Processor");
  device.set_arch("cpu:x86-64-v4");
  device.set_healthy(true);
  return out;
}

v1::Job failedJob(const std::string& id, const std::string& model, const std::string& why) {
  v1::Job job;
  job.set_id(id);
  job.set_state(v1::JOB_FAILED);
  job.set_model_name(model);
  job.mutable_ended()->set_seconds(kNow - 61);
  job.mutable_error()->set_message(why);
  job.mutable_error()->set_exit_code(4);
  return job;
}

FarmView sample() {
  FarmView farm;
  farm.at = TimePoint(std::chrono::seconds(kNow));
  farm.endpoint = "unix:/farm.sock";
  farm.instance = "default";
  farm.whole = true;
  *farm.queues.add_queues() = queue("default", 10, 3);
  *farm.queues.add_queues() = queue("team-b", 0, 1);
  farm.queues.mutable_queues(0)->set_max_running(4);
  farm.workers = {worker("w1", "op"), worker("w2", "op"), worker("w3", "other")};
  farm.workers[0].add_running("ab");
  farm.workers[1].set_draining(true);
  farm.workers[2].set_lost(true);
  farm.failed = {failedJob("j1", "m.onnx", "no such operator\nat line 3")};
  return farm;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(FarmView, TellsQueueInstancesFleetDevicesAndFailures) {
  EXPECT_EQ(joined(farmLines(sample(), kRoomy)),
            "2026-09-21T14:13:20Z  unix:/farm.sock, instance default\n"
            "1 worker live, 1 draining, 1 lost; 1 of 4 slots busy\n"
            "\n"
            "QUEUE    QUEUED  RUNNING   OLDEST  EXPECTED WORK\n"
            "compile      10        4  12m 05s        10m 00s\n"
            "\n"
            "INSTANCE  QUEUED  RUNNING  SHARE  WEIGHT   OLDEST  EXPECTED WORK\n"
            "default       10      3/4   75 %       1  12m 05s        10m 00s\n"
            "team-b         0        1   25 %       1        -              -\n"
            "\n"
            "OPERATOR  WORKERS  LIVE  DRAINING  HELD BACK  LOST  SLOTS  BUSY\n"
            "op              2     1         1          0     0      4     1\n"
            "other           1     0         0          0     1      0     0\n"
            "\n"
            "WORKER  OPERATOR  STATE\n"
            "w2      op        draining\n"
            "w3      other     lost\n"
            "\n"
            "DEVICE       ARCH           DEVICES  HEALTHY\n"
            "A Processor  cpu:x86-64-v4        2        2\n"
            "\n"
            "FAILED JOB       ENDED  MODEL   WHY\n"
            "j1          1m 01s ago  m.onnx  no such operator\n");
}

TEST(FarmView, ShowsNoOtherInstancesWhereOneWasAskedFor) {
  FarmView farm = sample();
  farm.whole = false;
  EXPECT_EQ(joined(farmLines(farm, kRoomy)).find("INSTANCE"), std::string::npos);
}

TEST(FarmView, FitsWhateverTerminalThereIs) {
  FarmView farm = sample();
  for (int i = 0; i < 200; ++i) {
    *farm.queues.add_queues() = queue("tenant-" + std::to_string(i), 1, 1);
    farm.workers.push_back(worker("worker-" + std::to_string(i), "operator-" + std::to_string(i)));
    farm.workers.back().set_lost(true);
    farm.failed.push_back(failedJob("j" + std::to_string(i), "m", std::string(300, 'x')));
  }
  for (std::size_t rows = 1; rows < 60; ++rows)
    for (const std::size_t columns : {20u, 80u}) {
      const auto lines = farmLines(farm, {columns, rows});
      EXPECT_LE(lines.size(), rows);
      for (const std::string& line : lines) EXPECT_LE(line.size(), columns) << line;
    }
  const std::string text = joined(farmLines(farm, {80, 40}));
  EXPECT_NE(text.find("QUEUE  "), std::string::npos) << text;
  EXPECT_NE(text.find("FAILED JOB"), std::string::npos) << "every table is there: " << text;
  EXPECT_NE(text.find("more (--json lists all)"), std::string::npos) << text;
  EXPECT_EQ(farmJson(farm).at("failures").size(), 201u);
}

TEST(FarmView, NamesFromOutsideAreMadePrintable) {
  FarmView farm = sample();
  const std::string hostile = "a\x1b[2J\nb\xff\xe2\x80\xae" + std::string(300, 'z');
  farm.instance = hostile;
  farm.queues.mutable_queues(0)->set_instance(hostile);
  farm.workers = {worker(hostile, hostile)};
  farm.workers[0].set_draining(true);
  farm.workers[0].mutable_description()->set_slots(std::numeric_limits<int>::max());
  farm.workers.push_back(farm.workers[0]);
  farm.workers[0].mutable_description()->mutable_devices(0)->set_name(hostile);
  farm.failed = {failedJob(hostile, hostile, hostile)};
  for (const std::string& line : farmLines(farm, kRoomy)) {
    EXPECT_EQ(line.find_first_of("\x1b\n"), std::string::npos) << line;
    EXPECT_EQ(line.find("\xe2\x80\xae"), std::string::npos) << line;
  }
  EXPECT_NE(joined(farmLines(farm, kRoomy)).find("of 4294967294 slots"), std::string::npos);
}

TEST(FarmView, AgesAreShort) {
  EXPECT_EQ(ageText(0), "0s");
  EXPECT_EQ(ageText(59.9), "59s");
  EXPECT_EQ(ageText(3599), "59m 59s");
  EXPECT_EQ(ageText(3 * 3600 + 7 * 60), "3h 07m");
  EXPECT_EQ(ageText(2 * 86400 + 4 * 3600), "2d 04h");
  EXPECT_EQ(ageText(-5), "0s") << "of a clock that is ahead";
}

}  // namespace
}  // namespace kiln::cli
