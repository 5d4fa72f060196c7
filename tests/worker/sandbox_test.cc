// What a tool inside the sandbox can and cannot do, tried by a program that misbehaves.
#include "worker/sandbox/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <gmock/gmock.h>

#include <filesystem>
#include <random>
#include <sstream>
#include <thread>

#include "tests/worker/sandbox_fixture.h"

namespace kiln::sandbox {
namespace {

using testing::HasSubstr;
using testing::Not;

// Living processes on the host whose real uid is `uid` and whose name is `named`; or all of that uid, the
// dead among them.
int processesOf(uid_t uid, const std::string& named, bool all = false) {
  int count = 0;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    const std::string dir = std::string("/proc/") + entry->d_name;
    struct stat info{};
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || stat(dir.c_str(), &info) != 0) continue;
    std::ifstream file(dir + "/stat");
    std::string pid, name, state;
    file >> pid >> name >> state;
    count += info.st_uid == uid && (all || (name == "(" + named + ")" && state != "Z"));
  }
  closedir(proc);
  return count;
}

TEST_F(SandboxFixture, ShowsOnlyWhatIsBoundAndExactlyTheGivenEnvironment) {
  const RunResult result = run({"facts"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(
      result.out,
      "pid 1\nuid 1000 1000 gid 1000 1000 groups 0\nhost localhost\nenv LC_ALL=C\nenv TZ=UTC\nenv PWD=/work\n"
      "fd 0\nfd 1\nfd 2\ncwd /work\nls /: dev work\nls /dev: null urandom zero\n"
      "ls /work: input output toolchain\ncore 0\nstack 67108864\n");
}

TEST_F(SandboxFixture, WritesBelongToAnUnprivilegedHostUser) {
  ASSERT_EQ(run({"write", "/work/output/f", "x"}).exitCode, 0);
  struct stat info{};
  ASSERT_EQ(stat((output() + "/f").c_str(), &info), 0);
  EXPECT_NE(info.st_uid, 0u);
  EXPECT_NE(info.st_gid, 0u);
  EXPECT_EQ(info.st_uid, host_.actionUid(0));
}

TEST_F(SandboxFixture, SlotsHaveUidsOfTheirOwnUnderRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "an ordinary user has one uid";
  ASSERT_EQ(run({"write", "/work/output/f", "x"}, {.slot = 3}).exitCode, 0);
  struct stat info{};
  ASSERT_EQ(stat((output() + "/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, host_.uidBase + 3);
}

TEST_F(SandboxFixture, AddressesRepeat) {
  const std::string first = run({"addresses"}).out;
  EXPECT_EQ(first, run({"addresses"}).out);
  EXPECT_NE(first, "");
}

TEST_F(SandboxFixture, Case18CannotReachTheNetworkNorAbstractSockets) {
  const int inet = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(inet, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(inet, 1), 0);
  ASSERT_EQ(getsockname(inet, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string name = "kiln-test-" + std::to_string(getpid());
  sockaddr_un abstract{};
  abstract.sun_family = AF_UNIX;
  name.copy(abstract.sun_path + 1, name.size());
  ASSERT_EQ(bind(local, reinterpret_cast<sockaddr*>(&abstract),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
            0);
  ASSERT_EQ(listen(local, 1), 0);

  const std::vector<std::string> reach = {"reach", std::to_string(ntohs(address.sin_port)), name};
  EXPECT_EQ(run(reach).out, "inet: Function not implemented\nabstract: Function not implemented\n");
  // The namespace holds by itself, without the filter's help.
  policy_.calls = fetchPolicy().calls;
  EXPECT_EQ(run(reach).out, "inet: Connection refused\nabstract: Connection refused\n");
  // And the fetcher's policy, which shares the network, does reach it: the test would notice a dead listener.
  policy_ = fetchPolicy();
  EXPECT_EQ(run(reach).out, "inet: done\nabstract: done\n");
  close(inet);
  close(local);
}

TEST_F(SandboxFixture, Case18CannotSeeHostFiles) {
  for (const std::string path : {"/etc/passwd", "/proc/self/status", "/proc/1/root/etc/passwd", "/sys/kernel",
                                 "/root", "/work/../../../etc/passwd", "/dev/mem", "/tmp", "/usr/bin"}) {
    EXPECT_EQ(run({"open", path}).out, path + ": No such file or directory\n");
  }
  EXPECT_EQ(run({"open", dir_ + "/root/input/model.onnx"}).out,
            dir_ + "/root/input/model.onnx: No such file or directory\n");
  EXPECT_EQ(run({"open", "/work/input/model.onnx"}).out, "/work/input/model.onnx: done\n");
}

TEST_F(SandboxFixture, Case18CannotChangeItsInputsNorPlantAnything) {
  const std::string out = run({"spoil"}).out;
  EXPECT_THAT(out, Not(HasSubstr("done")));
  EXPECT_THAT(out, HasSubstr("unlink: Read-only file system"));
  EXPECT_THAT(out, HasSubstr("root: Read-only file system"));
}

TEST_F(SandboxFixture, Case18DangerousCallsAreRefused) {
  const RunResult result = run({"calls"});
  EXPECT_THAT(result.out, Not(HasSubstr("done")));
  EXPECT_THAT(result.out, HasSubstr("ptrace: Function not implemented"));
  EXPECT_THAT(result.out, HasSubstr("fchmod set-uid: Function not implemented"));
  EXPECT_THAT(result.out, HasSubstr("clone: Function not implemented"));
}

TEST_F(SandboxFixture, Case18NoPolicyLetsACallReachOthersOrTheMachine) {
  for (const Policy& policy :
       {compilePolicy(), tunePolicy(), checkPolicy(), executePolicy(), fetchPolicy()}) {
    policy_ = policy;
    std::istringstream said(run({"kernel"}).out);
    int count = 0;
    for (std::string line; std::getline(said, line); ++count)
      EXPECT_THAT(line, testing::EndsWith(": Function not implemented")) << policy.name;
    EXPECT_GT(count, 60) << policy.name;
  }
}

TEST_F(SandboxFixture, Case18AProcShowsNobodyElseAndChangesNothing) {
  for (const Policy& policy : {tunePolicy(), checkPolicy(), executePolicy()}) {
    policy_ = policy;
    const std::string out = run({"proc"}).out;
    EXPECT_THAT(out, Not(HasSubstr("seen"))) << policy.name;
    EXPECT_THAT(out, Not(HasSubstr("done"))) << policy.name;
    EXPECT_THAT(out, HasSubstr("uid_map: ")) << policy.name;
  }
}

// Parallel actions read the same files: whatever the kernel keeps of one for everybody is out of reach.
TEST_F(SandboxFixture, NoStateOfASharedFileIsSeenOrChanged) {
  const auto lines = [](const std::string& text) {
    std::vector<std::string> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  };
  for (Policy policy : {compilePolicy(), tunePolicy(), checkPolicy(), executePolicy(), fetchPolicy()}) {
    policy_ = policy;
    for (const std::string path : {"/work/toolchain/hostile", "/work/toolchain"}) {
      auto said = lines(run({"share", path}).out);
      ASSERT_GT(said.size(), 20u) << policy.name;
      EXPECT_EQ(said.front(), "open: done");
      said.erase(said.begin());
      for (const std::string& line : said) {
        if (policy.name.starts_with("check/") && line.starts_with("mincore: ")) continue;  // SHARED_STATE.md
        EXPECT_THAT(line, testing::EndsWith(": Function not implemented")) << policy.name << " " << path;
      }
    }
  }
}

// The same from the other side: one action does what it can to a file while another one, and the host, look.
TEST_F(SandboxFixture, ALockThatAnActionWantsIsSeenByNobody) {
  const std::string tool = dir_ + "/tools/hostile";
  bool seen = false;
  RunOptions options;
  Cancel cancel;
  options.cancel = &cancel;
  options.onErrorLine = [&](std::string_view line) {
    if (line != "stage: holding") return;
    const int fd = open(tool.c_str(), O_RDONLY | O_CLOEXEC);
    seen = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    cancel.request();
  };
  EXPECT_EQ(run({"hold", "/work/toolchain/hostile"}, options).termination, Termination::kCancelled);
  EXPECT_FALSE(seen);
  // The test would notice: with the call allowed the lock is there.
  policy_.calls.emplace_back("flock");
  Cancel again;
  options.cancel = &again;
  options.onErrorLine = [&](std::string_view line) {
    if (line != "stage: holding") return;
    const int fd = open(tool.c_str(), O_RDONLY | O_CLOEXEC);
    seen = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    again.request();
  };
  EXPECT_EQ(run({"hold", "/work/toolchain/hostile"}, options).termination, Termination::kCancelled);
  EXPECT_TRUE(seen);
}

TEST_F(SandboxFixture, Case19NothingSurvivesTheAction) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run({"survive"}).out, "planted\n");
    EXPECT_EQ(processesOf(host_.actionUid(0), "hostile"), 0);
  }
}

TEST_F(SandboxFixture, NothingSurvivesACancelOrATimeout) {
  Cancel cancel;
  RunOptions options;
  options.cancel = &cancel;
  options.onErrorLine = [&](std::string_view line) {
    if (line == "stage: sleeping") cancel.request();
  };
  EXPECT_EQ(run({"sleep"}, options).termination, Termination::kCancelled);
  EXPECT_EQ(processesOf(host_.actionUid(0), "hostile"), 0);
  const RunResult late = run({"spin"}, {.timeLimit = std::chrono::milliseconds(300)});
  EXPECT_EQ(late.termination, Termination::kTimedOut);
  EXPECT_LT(late.wallTime, std::chrono::seconds(5));
  EXPECT_EQ(processesOf(host_.actionUid(0), "hostile"), 0);
}

TEST_F(SandboxFixture, CancelledBeforeTheStartEndsAtOnce) {
  Cancel cancel;
  cancel.request();
  const auto result = tryRun({"sleep"}, {.cancel = &cancel});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->termination, Termination::kCancelled);
}

TEST_F(SandboxFixture, NothingSurvivesTheWorker) {
  // A process that runs the sandbox and is killed, as a crashing worker would be.
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t worker = fork();
  if (worker == 0) {
    RunOptions options;
    options.onErrorLine = [&](std::string_view) { (void)!write(pipes[1], "x", 1); };
    (void)tryRun({"sleep"}, options);
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(pipes[0], &byte, 1), 1);
  EXPECT_EQ(processesOf(host_.actionUid(0), "hostile"), 1);
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  for (int i = 0; i < 6000 && processesOf(host_.actionUid(0), "hostile") > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(processesOf(host_.actionUid(0), "hostile"), 0);
  close(pipes[0]);
  close(pipes[1]);
}

// All processes below `pid`, however deep.
std::vector<pid_t> descendants(pid_t pid) {
  std::vector<pid_t> found = {pid};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string number = std::to_string(found[i]);
    std::ifstream children("/proc/" + number + "/task/" + number + "/children");
    for (pid_t child = 0; children >> child;) found.push_back(child);
  }
  found.erase(found.begin());
  return found;
}

// Whatever of the worker is killed, and whenever: nothing of it is left. Most kills fall into the
// milliseconds in which bubblewrap sets up, when its own child does not yet ask to die with it.
TEST_F(SandboxFixture, NothingSurvivesAKillWithinTheFirstMilliseconds) {
  if (!host_.ownPids) GTEST_SKIP() << "no pid namespace with a /proc of its own here";
  if (geteuid() != 0) GTEST_SKIP() << "an ordinary user's processes cannot be told from others of that user";
  std::mt19937 random(1);
  std::uniform_int_distribution<int> upTo(0, 8000);
  const auto left = [&] {
    return processesOf(host_.actionUid(0), "bwrap") + processesOf(host_.actionUid(0), "hostile");
  };
  int killedEarly = 0;
  for (int round = 0; round < 300; ++round) {
    const pid_t worker = fork();
    if (worker == 0) {
      (void)tryRun({"sleep"}, {.timeLimit = std::chrono::seconds(20)});
      _exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(upTo(random)));
    if (round % 2 == 1) {
      const auto below = descendants(worker);
      if (!below.empty()) kill(below.front(), SIGKILL);  // bubblewrap, or what becomes it
      killedEarly += below.size() < 2;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    kill(worker, SIGKILL);
    waitpid(worker, nullptr, 0);
  }
  for (int i = 0; i < 6000 && left() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(left(), 0);
  // The dead that nobody has reaped yet count against the limit on processes of whoever gets this uid next.
  for (int i = 0; i < 1000 && processesOf(host_.actionUid(0), "", true) > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(killedEarly, 10) << "some kills came before the tool ran";
}

// And the worker that lives on notices at once that its bubblewrap is gone, with all that it ran.
TEST_F(SandboxFixture, AKilledBubblewrapTakesItsToolAlong) {
  if (!host_.ownPids) GTEST_SKIP() << "no pid namespace with a /proc of its own here";
  std::vector<pid_t> below;
  RunOptions options;
  options.timeLimit = std::chrono::seconds(20);
  options.onErrorLine = [&](std::string_view) {
    below = descendants(getpid());
    if (!below.empty()) kill(below.front(), SIGKILL);
  };
  const auto result = tryRun({"sleep"}, options);
  EXPECT_FALSE(result) << "bubblewrap did not say how the tool ended";
  ASSERT_GE(below.size(), 2u);
  for (const pid_t pid : below) EXPECT_NE(kill(pid, 0), 0) << pid;
}

// Without the pid namespace a killed bubblewrap can leave its child: it is found by its control group, by the
// worker itself or by the next one of the same state directory. Other workers' groups are let be.
TEST_F(SandboxFixture, TheNextWorkerOfAStateDirectoryEndsWhatTheDeadOneLeft) {
  if (!host_.cgroups.memory()) GTEST_SKIP() << "no memory control group here";
  const std::string mine = dir_ + "/state", other = dir_ + "/other";
  ASSERT_EQ(mkdir(mine.c_str(), 0700), 0);
  ASSERT_EQ(mkdir(other.c_str(), 0700), 0);
  std::vector<pid_t> leftBehind;
  for (const std::string& state : {mine, other}) {
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    const pid_t worker = fork();
    if (worker == 0) {
      const auto group = Host::detect(state).cgroups.create(1, policy_.limits);
      const pid_t orphan = fork();
      if (orphan == 0) {
        for (const UniqueFd& procs : (*group)->procs()) (void)!write(procs.get(), "0", 1);
        const pid_t self = getpid();
        (void)!write(pipes[1], &self, sizeof self);
        while (true) pause();
      }
      pause();
    }
    pid_t orphan = 0;
    ASSERT_EQ(read(pipes[0], &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));
    leftBehind.push_back(orphan);
    kill(worker, SIGKILL);
    waitpid(worker, nullptr, 0);
    close(pipes[0]);
    close(pipes[1]);
  }
  // A zombie counts as gone: whoever has adopted it may take its time to reap it.
  const auto alive = [](pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    return static_cast<bool>(file >> number >> name >> state) && state != "Z";
  };
  (void)Host::detect();
  EXPECT_TRUE(alive(leftBehind[0])) << "a host without a state directory ends nothing";
  (void)Host::detect(mine + "/../state");
  EXPECT_FALSE(alive(leftBehind[0]));
  EXPECT_TRUE(alive(leftBehind[1]));
  (void)Host::detect(other);
  EXPECT_FALSE(alive(leftBehind[1]));
  for (const char* root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
    std::error_code error;
    struct stat info{};
    ASSERT_EQ(stat(mine.c_str(), &info), 0);
    for (auto entry = std::filesystem::recursive_directory_iterator(root, error);
         !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
      EXPECT_FALSE(entry->path().filename().string().ends_with("." + std::to_string(info.st_ino)));
    }
  }
}

// The suite's own cases of dying, where the host gives no pid namespace.
TEST_F(SandboxFixture, NothingSurvivesWithoutAPidNamespaceEither) {
  host_.ownPids = false;
  EXPECT_EQ(run({"survive"}).out, "planted\n");
  EXPECT_EQ(processesOf(host_.actionUid(0), "hostile"), 0);
  const RunResult late = run({"spin"}, {.timeLimit = std::chrono::milliseconds(300)});
  EXPECT_EQ(late.termination, Termination::kTimedOut);
  EXPECT_EQ(processesOf(host_.actionUid(0), "hostile"), 0);
  EXPECT_EQ(run({"exit", "4"}).exitCode, 4);
}

TEST_F(SandboxFixture, Case18AForkBombIsContained) {
  policy_.limits.processes = 50;
  const RunResult result = run({"forkbomb"});
  EXPECT_GT(std::stoi("0" + result.out), 10);
  EXPECT_LE(std::stoi("0" + result.out), 60);
  EXPECT_EQ(processesOf(host_.actionUid(0), "hostile"), 0);
  host_.cgroups = CgroupHost::none();
  EXPECT_LE(std::stoi("0" + run({"forkbomb"}).out), 60) << "RLIMIT_NPROC holds by itself";
}

TEST_F(SandboxFixture, Case18AMemoryBombIsContained) {
  policy_.limits.addressSpaceBytes = 64 << 20;
  EXPECT_EQ(run({"memory", "200"}).out, "failed 8\n");
  policy_ = compilePolicy();
  policy_.limits.memoryBytes = 128 << 20;
  if (!host_.cgroups.memory()) GTEST_SKIP() << "no memory control group here: the sum cannot be limited";
  const RunResult result = run({"memory", "100"});
  EXPECT_EQ(result.termination, Termination::kOutOfMemory);
  EXPECT_EQ(result.why, "more than 134217728 bytes of memory");
  EXPECT_GT(result.peakMemoryBytes, 100u << 20);
}

TEST_F(SandboxFixture, Case18OutputTricksAreBounded) {
  EXPECT_EQ(run({"outputs", "sparse"}).out, "sparse: File too large\n");
  policy_.limits.outputFiles = 300;
  const RunResult many = run({"outputs", "manyfiles"});
  EXPECT_EQ(many.termination, Termination::kOutputLimit);
  EXPECT_EQ(many.why, "output: more than 300 files and directories");
  policy_.limits.outputFiles = 8192;
  policy_.limits.outputBytes = 64 << 20;
  EXPECT_TRUE(removeTree(output()));
  ASSERT_EQ(mkdir(output().c_str(), 0755), 0);
  const RunResult bytes = run({"outputs", "bytes"});
  EXPECT_EQ(bytes.termination, Termination::kOutputLimit);
  EXPECT_EQ(bytes.why, "output: more than 67108864 bytes in all");
}

// What is on the disk counts, whether or not a name leads to it.
TEST_F(SandboxFixture, Case18OutputsThatNobodySeesAreBounded) {
  policy_.limits.outputBytes = 64 << 20;
  const RunOptions shortly{.timeLimit = std::chrono::seconds(60)};
  const RunResult unlinked = run({"outputs", "unlinked"}, shortly);
  EXPECT_EQ(unlinked.termination, Termination::kOutputLimit);
  EXPECT_EQ(unlinked.why, "output: more than 67108864 bytes in all");
  const RunResult hidden = run({"outputs", "hidden"}, shortly);
  EXPECT_EQ(hidden.termination, Termination::kOutputLimit);
  EXPECT_EQ(hidden.why, "output d: its mode keeps its own user out; refused");
}

TEST_F(SandboxFixture, LogsAreBoundedAndKeepTheEnd) {
  std::string last;
  RunOptions options;
  options.onErrorLine = [&](std::string_view line) { last = line; };
  const RunResult result = run({"flood"}, options);
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(last, "the end");
  EXPECT_LT(result.err.size(), policy_.limits.logBytes + 100);
  EXPECT_TRUE(result.err.ends_with("\nstage: last\nthe end\n"));
  EXPECT_THAT(result.err, HasSubstr(" bytes left out]"));
}

TEST_F(SandboxFixture, ExitStatusIsTheTools) {
  EXPECT_EQ(run({"exit", "0"}).exitCode, 0);
  EXPECT_EQ(run({"exit", "4"}).exitCode, 4);
  EXPECT_EQ(run({"exit", "1"}).exitCode, 1);
  EXPECT_GT(run({"abort"}).exitCode, 128);
  EXPECT_EQ(run({"segv"}).exitCode, 139);
}

TEST_F(SandboxFixture, CpuTimeIsLimited) {
  policy_.limits.cpuSeconds = 1;
  EXPECT_GT(run({"spin"}, {.timeLimit = std::chrono::seconds(30)}).exitCode, 128);
}

// The filter lets through what LLVM's code generator and a multi-threaded lld need, since kiln-cc is made of
// them.
TEST_F(SandboxFixture, LlvmAndLldRunUnderTheFilter) {
  const std::string llvm = "/usr/lib/llvm-22/bin";
  if (access((llvm + "/ld.lld").c_str(), X_OK) != 0) GTEST_SKIP() << "lld 22 is not installed";
  std::ofstream(dir_ + "/root/input/f.ll")
      << "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{llvm + "/llc", "-filetype=obj", "-relocation-model=pic", "input/f.ll", "-o",
                                 "output/f.o"},
        {llvm + "/ld.lld", "-shared", "--threads=2", "output/f.o", "-o", "output/f.so"}}) {
    auto sandbox = Sandbox::make(policy_, host_);
    ASSERT_TRUE(sandbox);
    Command tool = command({});
    tool.arguments = arguments;
    for (const char* dir : {"/usr", "/lib", "/lib64"}) tool.binds.push_back({dir, dir, false});
    if (geteuid() == 0) {
      ASSERT_EQ(chown(output().c_str(), host_.actionUid(0), host_.actionUid(0)), 0);
    }
    const auto result = sandbox->run(tool, {});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->exitCode, 0) << arguments[0] << ": " << result->err;
  }
  EXPECT_EQ(access((output() + "/f.so").c_str(), R_OK), 0);
}

TEST_F(SandboxFixture, SetUpFailuresAreTheSandboxsNotTheTools) {
  ASSERT_EQ(unlink((dir_ + "/tools/hostile").c_str()), 0);
  auto result = tryRun({"facts"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(result.error().message, HasSubstr("hostile"));
  host_.bwrap = "/nonexistent/bwrap";
  result = tryRun({"facts"});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("/nonexistent/bwrap: No such file or directory"));
}

// Everything above once more under an unprivileged user, when this run is root's.
TEST(AsOrdinaryUser, TheWholeSuitePasses) {
  runAgainAsOrdinaryUser("-AsOrdinaryUser.*");
}

}  // namespace
}  // namespace kiln::sandbox
