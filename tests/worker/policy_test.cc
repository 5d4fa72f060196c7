#include "worker/sandbox/policy.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "manifest/statement/sandbox_policy.h"
#include "worker/sandbox/cgroup.h"
#include "worker/sandbox/outputs.h"
#include "worker/sandbox/probe.h"

namespace kiln::sandbox {
namespace {

TEST(Policy, TheDigestIsThatOfTheCanonicalJson) {
  const Policy policy = compilePolicy();
  const auto text = toCanonicalJson(policy.toJson());
  ASSERT_TRUE(text);
  EXPECT_EQ(*policy.digest(), digestOf(*text));
  EXPECT_NE(text->find("\"uid\":1000"), std::string::npos);
}

// A receipt that names one is refused by a coordinator that cannot read it.
TEST(Policy, WhoReadsTheDocumentSeesWhatItGives) {
  for (const Policy& policy : {compilePolicy(), checkPolicy(), tunePolicy(), executePolicy(), fetchPolicy(),
                               gpuCheckPolicy({"/dev/nvidia0", "/dev/nvidiactl"})}) {
    const auto read = readSandboxPolicy(toCanonicalJson(policy.toJson()).value());
    ASSERT_TRUE(read) << policy.name << ": " << read.error().message;
    EXPECT_EQ(read->name, policy.name);
    EXPECT_EQ(read->network, policy.network);
    EXPECT_EQ(read->proc, policy.proc);
    EXPECT_EQ(read->gpu, policy.gpu);
    EXPECT_EQ(read->tmp, policy.name == "execute/1");
  }
}

TEST(Policy, EveryLimitAndRuleIsInTheDigest) {
  const Digest base = *compilePolicy().digest();
  const auto differs = [&](auto change) {
    Policy policy = compilePolicy();
    change(policy);
    return *policy.digest() != base;
  };
  EXPECT_TRUE(differs([](Policy& p) { p.network = true; }));
  EXPECT_TRUE(differs([](Policy& p) { p.uid = 1; }));
  EXPECT_TRUE(differs([](Policy& p) { p.calls.push_back("socket"); }));
  EXPECT_TRUE(differs([](Policy& p) { p.devices.clear(); }));
  EXPECT_TRUE(differs([](Policy& p) { p.gpu = true; }));
  EXPECT_TRUE(differs([](Policy& p) { p.limits.wallSeconds = 1; }));
  EXPECT_TRUE(differs([](Policy& p) { p.limits.outputPathBytes = 1; }));
  EXPECT_TRUE(differs([](Policy& p) { p.limits.tmpBytes = 1; }));
  EXPECT_TRUE(differs([](Policy& p) { p.links = {{"/dev/fd", "/proc/self/fd"}}; }));
  EXPECT_FALSE(differs([](Policy&) {}));
}

TEST(Policy, AGpuIsShownToItsChecksAlone) {
  const Policy gpu = gpuCheckPolicy({"/dev/nvidia0", "/dev/nvidiactl"});
  EXPECT_EQ(gpu.devices, (std::vector<std::string>{"/dev/null", "/dev/nvidia0", "/dev/nvidiactl",
                                                   "/dev/urandom", "/dev/zero"}));
  EXPECT_TRUE(gpu.gpu);
  EXPECT_FALSE(gpu.network);
  EXPECT_TRUE(Sandbox::make(gpu, Host::detect())) << "its filter can be built";
  for (const Policy& other : {compilePolicy(), checkPolicy(), fetchPolicy()}) {
    EXPECT_FALSE(other.gpu);
    EXPECT_FALSE(other.toJson().contains("gpu")) << "policies keep their digests";
    EXPECT_EQ(other.devices.size(), 3u);
  }
}

TEST(Policy, AReaderOfRepositoriesHasFilesAlone) {
  const Policy policy = readPolicy();
  EXPECT_FALSE(policy.network);
  for (const char* call : {"chmod", "clone", "connect", "execve", "fork", "kill", "prctl", "prlimit64",
                           "ptrace", "rename", "socket", "symlink", "unlink", "vfork"})
    EXPECT_FALSE(std::ranges::binary_search(policy.calls, call)) << call;
  EXPECT_TRUE(Sandbox::make(policy, Host::detect())) << "its filter can be built";
}

TEST(Policy, TheDocumentSaysWhatIsStillShared) {
  const auto left = [](const Policy& policy) {
    return policy.toJson().at("sharedState").get<std::vector<std::string>>();
  };
  const std::vector<std::string> compile = {"cpu", "free-memory", "futexes-of-mapped-files",
                                            "page-cache-timing", "user-limits"};
  EXPECT_EQ(left(compilePolicy()), compile);
  const auto more = [&](const Policy& policy) {
    std::vector<std::string> other;
    std::ranges::set_difference(left(policy), compile, std::back_inserter(other));
    return other;
  };
  EXPECT_EQ(more(tunePolicy()), (std::vector<std::string>{"proc"}));
  EXPECT_EQ(more(executePolicy()), (std::vector<std::string>{"proc"}));
  EXPECT_EQ(more(checkPolicy()), (std::vector<std::string>{"page-residency", "proc"}));
  EXPECT_EQ(more(gpuCheckPolicy({})), (std::vector<std::string>{"gpu", "page-residency", "proc"}));
  EXPECT_EQ(more(fetchPolicy()), (std::vector<std::string>{"network"}));
}

TEST(Policy, CompileAllowsNoDangerousCall) {
  for (const std::string& call : compilePolicy().calls) {
    for (const char* bad :
         {"socket",      "ptrace",    "mount",          "bpf",          "keyctl",  "perf_event_open",
          "userfaultfd", "setuid",    "io_uring_setup", "unshare",      "setns",   "clone3",
          "mknod",       "linkat",    "symlink",        "flock",        "mincore", "preadv2",
          "pwritev2",    "cachestat", "statfs",         "inotify_init1"}) {
      EXPECT_NE(call, bad);
    }
  }
}

// What makes artifacts has neither, and the document says so by saying nothing.
TEST(Policy, ATmpAndLinksAreForForeignActionsAlone) {
  EXPECT_EQ(executePolicy().toJson().at("limits").at("tmpBytes"), "1073741824");
  EXPECT_EQ(executePolicy().toJson().at("links").at("/dev/fd"), "/proc/self/fd");
  for (const Policy& policy : {compilePolicy(), checkPolicy(), tunePolicy(), fetchPolicy()}) {
    EXPECT_FALSE(policy.toJson().at("limits").contains("tmpBytes")) << policy.name;
    EXPECT_FALSE(policy.toJson().contains("links")) << policy.name;
  }
}

TEST(Policy, ForeignActionsHaveNoCallThatReachesOthers) {
  const Policy policy = executePolicy();
  EXPECT_FALSE(policy.network);
  for (const char* call :
       {"accept",        "bind",        "connect",          "clone3",       "flock",   "getsockopt",
        "inotify_init1", "kcmp",        "listen",           "memfd_create", "mincore", "mount",
        "pidfd_open",    "preadv2",     "process_vm_readv", "ptrace",       "setns",   "setsockopt",
        "setuid",        "setpriority", "setxattr",         "socket",       "splice",  "statfs",
        "timer_create",  "unshare",     "io_uring_setup"})
    EXPECT_FALSE(std::ranges::binary_search(policy.calls, call)) << call;
  EXPECT_TRUE(std::ranges::is_sorted(policy.calls));
}

TEST(Probe, VersionsOfBubblewrap) {
  EXPECT_TRUE(recentEnough("bubblewrap 0.8.0"));
  EXPECT_TRUE(recentEnough("bubblewrap 0.11.1"));
  EXPECT_TRUE(recentEnough("bubblewrap 1.0"));
  EXPECT_FALSE(recentEnough("bubblewrap 0.4.1"));
  EXPECT_FALSE(recentEnough("command not found"));
}

TEST(Probe, ThisHostIsUsable) {
  const auto sandbox = Sandbox::make(compilePolicy(), Host::detect());
  ASSERT_TRUE(sandbox);
  const Probe result = probe(*sandbox);
  EXPECT_TRUE(result.usable()) << result.text();
}

TEST(Probe, AMissingBubblewrapIsNamedWithItsRemedy) {
  Host host;
  host.bwrap = "/nonexistent/bwrap";
  const Probe result = probe(*Sandbox::make(compilePolicy(), host));
  EXPECT_FALSE(result.usable());
  EXPECT_NE(result.text().find(
                "missing: bubblewrap: /nonexistent/bwrap is not there\n    apt-get install bubblewrap"),
            std::string::npos);
  EXPECT_NE(result.text().find("warning: memory limit"), std::string::npos);
}

// A directory tree that looks like the kernel's, on which writes and reads can be checked.
class Cgroups : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-cgroup-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { EXPECT_TRUE(removeTree(root_)); }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  std::string root_;
};

TEST_F(Cgroups, NoControllersMeansNone) {
  put("unified/cgroup.procs", "");
  const CgroupHost host = CgroupHost::detect(root_, "0::/\n");
  EXPECT_EQ(host.describe(), "none");
  EXPECT_TRUE(host.create(1, {}));
}

TEST_F(Cgroups, Version2NeedsBothControllers) {
  put("cgroup.controllers", "cpu memory\n");
  put("user/cgroup.procs", "");
  put("user/cgroup.controllers", "cpu memory\n");
  EXPECT_EQ(CgroupHost::detect(root_, "0::/user\n").describe(), "none");
}

TEST_F(Cgroups, ThisHostsDescriptionMatchesWhatItOffers) {
  const CgroupHost host = Host::detect().cgroups;
  const auto group = host.create(1000000, {});
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ((*group)->procs().size(), static_cast<std::size_t>(host.memory()) + host.processes());
  EXPECT_FALSE((*group)->ranOutOfMemory());
}

TEST_F(Cgroups, GroupsOfProcessesThatAreGoneAreRemoved) {
  if (!Host::detect().cgroups.memory()) GTEST_SKIP() << "no memory control group here";
  const pid_t child = fork();
  if (child == 0) {
    const auto group = Host::detect().cgroups.create(1, {});
    _exit(group ? 0 : 1);  // without its destructor
  }
  int status = 1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  const auto count = [&] {
    int found = 0;
    for (const char* root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
      std::error_code error;
      for (auto entry = std::filesystem::recursive_directory_iterator(root, error);
           entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
        found += entry->path().filename() == "kiln-" + std::to_string(child) + "-1";
      }
    }
    return found;
  };
  EXPECT_GT(count(), 0);
  (void)Host::detect();
  EXPECT_EQ(count(), 0);
}

}  // namespace
}  // namespace kiln::sandbox
