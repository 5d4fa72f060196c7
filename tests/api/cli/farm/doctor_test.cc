#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/cli/farm/doctor_disks.h"
#include "api/cli/farm/doctor_farm.h"
#include "api/cli/farm/doctor_packages.h"
#include "api/cli/farm/doctor_processes.h"
#include "tests/support/temp_directory.h"

namespace kiln::cli {
namespace {

using ::testing::HasSubstr;

bool before(const std::string& one, const std::string& other) {
  return one < other;
}

TEST(DoctorPackages, NamesWhatIsBelowItsFix) {
  const auto found = packagesBelowFixes("bash 5.2\ngrpc 1.51.1-3\nopenssl 3.0.19-1~deb12u2\n", before);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "package grpc");
  EXPECT_EQ(found[0].verdict, "warning");
  EXPECT_THAT(found[0].detail, HasSubstr("1.51.1-3 is before 1.53.2"));
  EXPECT_THAT(found[0].detail, HasSubstr("-33953"));
  EXPECT_THAT(found[0].next, HasSubstr("coordinator/LIMITS.md"));
  // Of several packages of one source the earliest counts, in whichever order.
  for (const char* lines : {"curl 9\ncurl 1\n", "curl 1\ncurl 9\n"})
    EXPECT_EQ(packagesBelowFixes(lines, before).at(0).name, "package curl");
}

TEST(DoctorPackages, SaysWhenNoneIs) {
  const auto found = packagesBelowFixes("grpc 1.60\nnginx 9\n", before);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].verdict, "ok");
  EXPECT_THAT(found[0].detail, HasSubstr("2 are not below"));
  EXPECT_TRUE(packagesBelowFixes("bash 5.2\n", before).empty()) << "not of this distribution";
}

TEST(DoctorPackages, EachPackageOnce) {
  std::set<std::string> names;
  for (const KnownFix& fix : knownFixes()) EXPECT_TRUE(names.insert(fix.source).second) << fix.source;
}

TEST(DoctorDisks, AFullOneIsNamedWhateverRanOut) {
  constexpr std::uint64_t kGiB = 1 << 30;
  const DiskFacts roomy{.size = 100 * kGiB, .free = 50 * kGiB, .inodes = 1'000'000, .freeInodes = 500'000};
  const auto judged = [&](auto change) {
    DiskFacts facts = roomy;
    change(facts);
    return judgeDisk({"/farm", "/tmp"}, facts);
  };
  EXPECT_EQ(judged([](DiskFacts&) {}).verdict, "ok");
  EXPECT_EQ(judged([](DiskFacts&) {}).name, "disk of /farm, /tmp");
  EXPECT_EQ(judged([](DiskFacts& facts) { facts.inodes = facts.freeInodes = 0; }).verdict, "ok")
      << "not counted";
  const auto full = judged([](DiskFacts& facts) { facts.free = 0; });
  EXPECT_EQ(full.verdict, "missing");
  EXPECT_THAT(full.detail, HasSubstr("is full: 0 B free of 107.4 GB"));
  EXPECT_NE(full.next, "");
  EXPECT_EQ(judged([](DiskFacts& facts) { facts.free = 100 << 20; }).verdict, "missing");
  EXPECT_EQ(judged([](DiskFacts& facts) { facts.free = 4 * kGiB; }).verdict, "warning");
  const auto crowded = judged([](DiskFacts& facts) { facts.freeInodes = 10; });
  EXPECT_EQ(crowded.verdict, "missing");
  EXPECT_THAT(crowded.detail, HasSubstr("no inodes left"));
  EXPECT_EQ(judged([](DiskFacts& facts) { facts.freeInodes = 40'000; }).verdict, "warning");
  const auto fixed = judged([](DiskFacts& facts) { facts.readOnly = true; });
  EXPECT_EQ(fixed.verdict, "missing");
  EXPECT_THAT(fixed.detail, HasSubstr("read-only"));
}

TEST(DoctorDisks, EveryPlaceOfAFarmIsLookedAt) {
  const testing_support::TempDirectory farm;
  for (const char* name : {"store", "pg/data", "log", "logs", "workers/worker-1"})
    std::filesystem::create_directories(farm / name);
  std::string names;
  for (const Finding& found : checkDisks(farm.path())) names += found.name + ", ";
  for (const char* name : {"", "/store", "/pg/data", "/log", "/logs", "/workers/worker-1"})
    EXPECT_THAT(names, HasSubstr(farm.path() + name + ", ")) << names;
  const auto nowhere = checkDisks(farm / "nowhere");
  EXPECT_TRUE(std::ranges::any_of(nowhere, [](const Finding& found) {
    return found.verdict == "missing" && found.next.find("--farm") != std::string::npos;
  }));
}

TEST(DoctorFarm, ItsCoordinatorsCommandLineFillsInWhatIsLeftOpen) {
  const testing_support::TempDirectory farm;
  const auto filledIn = [&](const std::string& services, Context context = {}) {
    std::filesystem::create_directories(farm / "run");
    std::ofstream(farm / "run/services.json") << services;
    fillInFrom(farm.path(), context);
    return context.endpoint + "|" + context.trustRoot + "|" + context.policy;
  };
  for (const char* text :
       {"", "[]", "{}", R"({"services":7})", R"({"services":[7,{},{"name":"coordinator"}]})",
        R"({"services":[{"name":"coordinator","command":["--listen"]}]})",
        R"({"services":[{"name":"log","command":["--listen","unix:/log"]}]})"})
    EXPECT_EQ(filledIn(text), "||") << text;
  const std::string whole =
      R"({"services":[{"name":"log","command":["--listen","unix:/log"]},{"name":"coordinator","command":["c",)"
      R"("--listen","unix:/own","--trust-root","/root.json","--policy","/policy.json",7]}]})";
  EXPECT_EQ(filledIn(whole), "unix:/own|/root.json|/policy.json");
  Context named;
  named.endpoint = "unix:/named";
  EXPECT_EQ(filledIn(whole, named), "unix:/named|/root.json|/policy.json");
}

TEST(DoctorFarm, TheNextStepNamesTheDirectory) {
  const testing_support::TempDirectory farm;
  EXPECT_EQ(sourceOr(farm.path(), "else"), "else");
  EXPECT_EQ(sourceOr("", "else"), "else");
  std::ofstream(farm / "kiln.env");
  EXPECT_EQ(sourceOr(farm.path(), "else"), ". " + (farm / "kiln.env"));
  EXPECT_EQ(upCommand(""), "infra/up");
  EXPECT_EQ(upCommand("/a farm"), "infra/up --dir '/a farm'");
}

class DoctorProcesses : public ::testing::Test {
 protected:
  // The state of one process, under a supervisor with this pid and start.
  std::vector<Finding> state(const std::string& process, const std::string& pid, const std::string& born) {
    std::filesystem::create_directories(directory_ / "run");
    std::ofstream(directory_ / "run/state.json") << R"({"supervisor":{"pid":)" << pid << R"(,"born":")"
                                                 << born << R"("},"processes":[)" << process << "]}";
    return supervisedProcesses(directory_ / "");
  }
  static std::string own() {
    std::ifstream stat("/proc/self/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {}), field;
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    for (int i = 3; i <= 22; ++i) rest >> field;
    return field;
  }
  std::vector<Finding> state(const std::string& process) {
    return state(process, std::to_string(::getpid()), own());
  }

  testing_support::TempDirectory directory_;
};

TEST_F(DoctorProcesses, WithoutASupervisorThereIsNothingToSay) {
  EXPECT_TRUE(supervisedProcesses(directory_ / "").empty());
}

TEST_F(DoctorProcesses, EachState) {
  const struct {
    const char *process, *verdict, *detail, *next;
  } cases[] = {
      {R"({"name":"log","state":"running","pid":7,"restarts":0,"ended":""})", "ok", "runs as 7", ""},
      {R"({"name":"log","state":"running","pid":7,"restarts":2,"ended":"exit code 3"})", "warning",
       "started again 2 times, after it ended: exit code 3", "logs/log.log"},
      {R"({"name":"log","state":"waiting","pid":null,"restarts":0,"ended":"killed by signal 9"})", "warning",
       "does not run and is about to be started: killed by signal 9", "logs/log.log"},
      {R"({"name":"log","state":"failed","pid":null,"restarts":9,"ended":"exit code 1"})", "missing",
       "given up", "infra/up --dir"},
  };
  for (const auto& each : cases) {
    const auto found = state(each.process);
    ASSERT_EQ(found.size(), 1u) << each.process;
    EXPECT_EQ(found[0].name, "process log");
    EXPECT_EQ(found[0].verdict, each.verdict);
    EXPECT_THAT(found[0].detail, HasSubstr(each.detail));
    EXPECT_THAT(found[0].next, HasSubstr(each.next));
  }
}

TEST_F(DoctorProcesses, WhatADeadSupervisorWroteCountsNoMore) {
  const std::string process = R"({"name":"log","state":"running","pid":7,"restarts":0,"ended":""})";
  for (const auto& [pid, born] :
       {std::pair<std::string, std::string>{std::to_string(::getpid()), "1"}, {"999999999", own()}}) {
    const auto found = state(process, pid, born);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].name, "supervisor");
    EXPECT_EQ(found[0].verdict, "missing");
  }
  std::ofstream(directory_ / "run/state.json") << "{\"supervisor\":[]}";
  EXPECT_EQ(supervisedProcesses(directory_ / "").at(0).verdict, "missing");
}

}  // namespace
}  // namespace kiln::cli
