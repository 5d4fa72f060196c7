// Each limit of an action at its exact place, tried where the worker's own settings would let it pass.
#include <gmock/gmock.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>

#include "tests/worker/sandbox_fixture.h"

namespace kiln::sandbox {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class LimitsTest : public SandboxFixture {
 protected:
  // What the action printed, run by a worker process that `prepare` has changed.
  template <class Prepare>
  std::string runUnder(const Prepare& prepare, const std::vector<std::string>& arguments) {
    int pipes[2];
    EXPECT_EQ(pipe(pipes), 0);
    const pid_t worker = fork();
    if (worker == 0) {
      prepare();
      const auto result = tryRun(arguments);
      const std::string text = result ? result->out : "error: " + result.error().message;
      (void)!write(pipes[1], text.data(), text.size());
      _exit(0);
    }
    close(pipes[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(pipes[0], buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(got));
    close(pipes[0]);
    waitpid(worker, nullptr, 0);
    return text;
  }
};

TEST_F(LimitsTest, NothingOfTheWorkersOwnSettingsReachesTheAction) {
  const std::string plain = run({"facts"}).out;
  EXPECT_THAT(plain, HasSubstr(" groups 0\n"));
  EXPECT_THAT(plain, HasSubstr("\ncore 0\n"));
  const auto generous = [] {
    const gid_t groups[] = {4, 24, 27, 100};
    if (geteuid() == 0 && setgroups(4, groups) != 0) _exit(1);
    rlimit core{};
    getrlimit(RLIMIT_CORE, &core);
    core.rlim_cur = core.rlim_max = geteuid() == 0 ? RLIM_INFINITY : core.rlim_max;
    if (setrlimit(RLIMIT_CORE, &core) != 0) _exit(1);
    umask(0);
    if (chdir("/") != 0) _exit(1);
    setenv("LD_PRELOAD", "/nowhere.so", 1);
  };
  EXPECT_EQ(runUnder(generous, {"facts"}), plain);
}

TEST_F(LimitsTest, EveryProcessHasThePolicysLimits) {
  policy_.limits.addressSpaceBytes = 3ull << 30;
  policy_.limits.stackBytes = 5 << 20;
  policy_.limits.openFiles = 77;
  policy_.limits.fileBytes = 7 << 20;
  policy_.limits.cpuSeconds = 1234;
  policy_.limits.processes = 40;
  const auto generous = [] {
    if (geteuid() != 0) return;
    const rlimit files{4096, 4096};
    for (const auto resource : {RLIMIT_CORE, RLIMIT_AS, RLIMIT_STACK, RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_NPROC,
                                RLIMIT_MEMLOCK, RLIMIT_MSGQUEUE, RLIMIT_RTPRIO}) {
      rlimit most{};
      getrlimit(resource, &most);
      most.rlim_cur = most.rlim_max;
      if (setrlimit(resource, &most) != 0) _exit(1);
    }
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) _exit(1);
  };
  const std::string text = runUnder(generous, {"limits"});
  EXPECT_THAT(text, StartsWith("core 0 0\nas 3221225472 3221225472\nstack 5242880 5242880\nnofile 77 77\n"
                               "fsize 7340032 7340032\ncpu 1234 1234\nnproc "));
  EXPECT_THAT(text, HasSubstr("\nmsgqueue 0 0\nrtprio 0 0\n"));
  if (geteuid() == 0) {
    // Two more for bubblewrap.
    EXPECT_THAT(text, HasSubstr("\nnproc 42 42\nmemlock 65536 65536\n"));
  }
}

TEST_F(LimitsTest, TheGroupsLimitsAreThePolicysWithSwapCountedIn) {
  if (!host_.cgroups.memory()) GTEST_SKIP() << "no memory control group here";
  Limits limits;
  limits.memoryBytes = 192 << 20;
  limits.processes = 33;
  const auto group = host_.cgroups.create(777, limits);
  ASSERT_TRUE(group) << group.error().message;
  const std::string name = "kiln-" + std::to_string(getpid()) + "-777";
  int memory = 0, swap = 0, processes = 0;
  std::error_code error;
  for (auto entry = std::filesystem::recursive_directory_iterator("/sys/fs/cgroup", error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() != name) continue;
    const auto text = [&](const char* file) {
      std::string value;
      std::ifstream(entry->path() / file) >> value;
      return value;
    };
    const std::string bytes = std::to_string(limits.memoryBytes);
    memory += text("memory.limit_in_bytes") == bytes || text("memory.max") == bytes;
    const std::string both = text("memory.memsw.limit_in_bytes");
    if (!both.empty()) {
      EXPECT_EQ(both, bytes);
    }
    swap += both == bytes || text("memory.swap.max") == "0";
    processes += text("pids.max") == "35";
  }
  EXPECT_EQ(memory, 1);
  EXPECT_EQ(processes, host_.cgroups.processes() ? 1 : 0);
  if (swap == 0) GTEST_SKIP() << "this kernel does not count swap";
}

TEST_F(LimitsTest, ThePolicysTimeHoldsWhateverTheLeaseAllows) {
  policy_.limits.wallSeconds = 1;
  for (const Duration asked :
       {Duration{}, Duration(std::chrono::seconds(30)), Duration(std::chrono::seconds(-1))}) {
    const RunResult late = run({"sleep"}, {.timeLimit = asked});
    EXPECT_EQ(late.termination, Termination::kTimedOut);
    EXPECT_EQ(late.why, "still running after 1 s");
    EXPECT_GE(late.wallTime, std::chrono::seconds(1));
    EXPECT_LT(late.wallTime, std::chrono::seconds(15));
  }
  policy_.limits.wallSeconds = 60;
  const RunResult sooner = run({"sleep"}, {.timeLimit = std::chrono::milliseconds(200)});
  EXPECT_EQ(sooner.termination, Termination::kTimedOut);
  EXPECT_LT(sooner.wallTime, std::chrono::seconds(30));
}

TEST_F(LimitsTest, AsManyBindsAsThereIsRoomFor) {
  auto sandbox = Sandbox::make(policy_, host_);
  ASSERT_TRUE(sandbox);
  Command many = command({"exit", "3"});
  if (geteuid() == 0) {
    ASSERT_EQ(chown(output().c_str(), host_.actionUid(0), host_.actionUid(0)), 0);
  }
  // 32 in all, the devices among them.
  while (many.binds.size() + policy_.devices.size() < 32)
    many.binds.push_back({dir_ + "/root/input", "/more/" + std::to_string(many.binds.size())});
  const auto full = sandbox->run(many, {});
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->exitCode, 3);
  many.binds.push_back({dir_ + "/root/input", "/more/last"});
  const auto over = sandbox->run(many, {});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().message, "sandbox: too many binds");
}

// The boundaries of what is collected: at the limit it is taken, one beyond it is refused and the limit
// named.
class OutputLimits : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-limits-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { EXPECT_TRUE(removeTree(dir_)); }
  void put(const std::string& path, std::size_t bytes) {
    std::filesystem::create_directories(std::filesystem::path(dir_ + "/" + path).parent_path());
    std::ofstream(dir_ + "/" + path) << std::string(bytes, 'x');
  }
  // Of the walk and of the look while it is written to; "" for accepted.
  std::string walked() {
    const Status status = visitOutputs(dir_, limits_, [](const OutputFile&) { return Status{}; });
    if (!status) {
      EXPECT_EQ(status.error().code, Code::kOutOfRange);
    }
    return status ? "" : status.error().message;
  }
  std::string watched() {
    const Status status = checkOutputUse(dir_, limits_);
    if (!status) {
      EXPECT_EQ(status.error().code, Code::kOutOfRange);
    }
    return status ? "" : status.error().message;
  }

  std::string dir_;
  Limits limits_;
};

TEST_F(OutputLimits, FilesAndDirectories) {
  limits_.outputFiles = 4;
  put("d/a", 1);
  put("d/b", 1);
  put("c", 1);
  EXPECT_EQ(walked() + watched(), "");
  put("d/e", 1);
  EXPECT_EQ(walked(), "output: more than 4 files and directories");
  EXPECT_EQ(watched(), "output: more than 4 files and directories");
}

TEST_F(OutputLimits, BytesInOneFileAndInAll) {
  limits_.fileBytes = 1000;
  limits_.outputBytes = 1500;
  put("a", 1000);
  put("b", 500);
  EXPECT_EQ(walked() + watched(), "");
  put("b", 501);
  EXPECT_EQ(walked(), "output: more than 1500 bytes in all");
  EXPECT_EQ(watched(), "output: more than 1500 bytes in all");
  put("b", 1);
  put("a", 1001);
  EXPECT_EQ(walked(), "output: more than 1000 bytes in one file");
  EXPECT_EQ(watched(), "") << "RLIMIT_FSIZE keeps a file small while the tool runs";
}

TEST_F(OutputLimits, DepthAndLengthOfPaths) {
  limits_.outputDepth = 3;
  limits_.outputPathBytes = 9;
  put("1/2/34567", 1);
  EXPECT_EQ(walked() + watched(), "");
  put("1/2/345678", 1);
  EXPECT_EQ(walked(), "output: more than 9 bytes in the path of a file");
  EXPECT_EQ(watched(), "");
  std::filesystem::remove(dir_ + "/1/2/345678");
  put("1/2/3/4", 1);
  EXPECT_EQ(walked(), "output: more than 3 levels of directories");
  EXPECT_EQ(watched(), "output: more than 3 levels of directories");
}

}  // namespace
}  // namespace kiln::sandbox
