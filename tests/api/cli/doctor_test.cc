#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/cli/doctor_packages.h"
#include "api/cli/doctor_processes.h"
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
  EXPECT_THAT(found[0].next, HasSubstr("coordinator/README.md"));
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
