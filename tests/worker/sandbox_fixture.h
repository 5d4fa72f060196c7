// A sandbox over a fresh directory laid out as actions are: /work with toolchain/, input/ and a writable
// output/.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "worker/sandbox/outputs.h"
#include "worker/sandbox/sandbox.h"
#include "worker/sandbox/uid_range.h"

namespace kiln::sandbox {

inline std::string hostilePath() {
  const char* given = std::getenv("KILN_TEST_HOSTILE");
  return given ? given : KILN_TEST_HOSTILE;
}

class SandboxFixture : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-sandbox-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);  // mode 0700: the host uid of an action cannot enter it
    dir_ = pattern;
    for (const char* name : {"/root", "/root/toolchain", "/root/input", "/root/output", "/out", "/tools"}) {
      ASSERT_EQ(mkdir((dir_ + name).c_str(), 0755), 0);
    }
    std::ofstream(dir_ + "/root/input/model.onnx") << "model";
    std::ifstream from(hostilePath(), std::ios::binary);
    std::ofstream(dir_ + "/tools/hostile", std::ios::binary) << from.rdbuf();
    ASSERT_EQ(chmod((dir_ + "/tools/hostile").c_str(), 0755), 0);
    policy_ = compilePolicy();
    // Tests that run side by side count processes by uid.
    auto uids = UidRange::claim();
    ASSERT_TRUE(uids) << uids.error().message;
    uids_.emplace(std::move(*uids));
    host_.uidBase = uids_->base();
  }
  void TearDown() override { EXPECT_TRUE(removeTree(dir_)); }

  std::string output() const { return dir_ + "/out"; }

  Command command(std::vector<std::string> arguments) const {
    Command command;
    command.arguments = {"/work/toolchain/hostile"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.environment = {{"LC_ALL", "C"}, {"TZ", "UTC"}};
    command.workingDirectory = "/work";
    command.binds = {
        {dir_ + "/root", "/work"}, {dir_ + "/tools", "/work/toolchain"}, {output(), "/work/output", true}};
    command.outputDirectory = output();
    return command;
  }

  Result<RunResult> tryRun(std::vector<std::string> arguments, RunOptions options = {}) {
    auto sandbox = Sandbox::make(policy_, host_);
    if (!sandbox) return fail(sandbox.error());
    if (geteuid() == 0) {
      const auto uid = host_.actionUid(options.slot);
      if (chown(output().c_str(), uid, uid) != 0) return fail(Code::kInternal, "chown");
    }
    return sandbox->run(command(std::move(arguments)), options);
  }

  RunResult run(std::vector<std::string> arguments, RunOptions options = {}) {
    auto result = tryRun(std::move(arguments), std::move(options));
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : RunResult{};
  }

  std::string dir_;
  std::optional<UidRange> uids_;
  Policy policy_;
  Host host_ = Host::detect();
};

// Runs this test program once more, with `filter`, under an unprivileged user, when this run is root's. The
// programs are copied: that user may not be able to enter the checkout. Their output is shown only when they
// fail: ctest would read the skips of that run as skips of this test.
inline void runAgainAsOrdinaryUser(const std::string& filter) {
  if (geteuid() != 0) GTEST_SKIP() << "already an ordinary user";
  std::string dir = testing::TempDir() + "kiln-user-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  ASSERT_EQ(chmod(dir.c_str(), 0777), 0);
  const std::string uid =
      std::to_string(60100 + getpid() % 1000);  // of its own, for tests that run side by side
  char self[4096] = "";
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  // Printed on failure only, and then without the word by which ctest would take the failure for a skipped
  // test.
  const std::string commands = "cp '" + std::string(self) + "' " + dir + "/test && cp '" + hostilePath() +
                               "' " + dir + "/hostile && chmod 755 " + dir +
                               "/* && cd / && env -i TEST_TMPDIR=" + dir + "/ KILN_TEST_HOSTILE=" + dir +
                               "/hostile PATH=/usr/bin:/bin setpriv --reuid " + uid + " --regid " + uid +
                               " --clear-groups " + dir + "/test --gtest_brief=1 --gtest_filter='" + filter +
                               "' >" + dir + "/log 2>&1 && grep -q 'PASSED.* [1-9][0-9]* test' " + dir +
                               "/log || { sed s/SKIPPED/skipped/ " + dir + "/log; false; }";
  EXPECT_EQ(system(commands.c_str()), 0);
  EXPECT_TRUE(removeTree(dir));
}

}  // namespace kiln::sandbox
