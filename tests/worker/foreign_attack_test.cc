// The attack cases with a hostile action that has a shell: everything is bounded, and answered by an error
// that says what it was or by a result that is right.
#include <dirent.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/worker/foreign_fixture.h"
#include "worker/executor/termination.h"

namespace kiln::executor {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class ForeignAttack : public ForeignTest {
 protected:
  // Living processes of the slot's user on the host; under an ordinary user those of that name.
  int survivors() const {
    int count = 0;
    DIR* proc = opendir("/proc");
    while (const dirent* entry = readdir(proc)) {
      const std::string dir = std::string("/proc/") + entry->d_name;
      struct stat info{};
      if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || stat(dir.c_str(), &info) != 0) continue;
      std::ifstream file(dir + "/stat");
      std::string pid, name, state;
      file >> pid >> name >> state;
      count +=
          info.st_uid == host_.actionUid(0) && state != "Z" && (name == "(hostile)" || name == "(sleep)");
    }
    closedir(proc);
    return count;
  }
};

TEST_F(ForeignAttack, ALinkAsAnOutputIsReportedAndNeverFollowed) {
  command_.add_output_paths("d");
  command_.add_output_paths("passwd");
  const auto result = run("echo x >in; ln -s in passwd; mkdir d; echo x >d/f; ln -s f d/to");
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->output_symlinks_size(), 1);
  EXPECT_EQ(result->output_symlinks(0).target(), "in");
  EXPECT_EQ(result->output_files_size(), 0);
  reapi::Tree tree;
  ASSERT_TRUE(tree.ParseFromString(get(result->output_directories(0).tree_digest())));
  EXPECT_EQ(tree.root().files_size(), 1);
  ASSERT_EQ(tree.root().symlinks_size(), 1);
  EXPECT_EQ(tree.root().symlinks(0).target(), "f");
  for (const char* program : {"ln -s /etc/passwd passwd", "mkdir d; ln -s /proc/self/environ d/env",
                              "mkdir d; ln -s ../../../etc/shadow d/up"}) {
    const std::string refusal = errorOf(program);
    EXPECT_TRUE(refusal.starts_with("INVALID_ARGUMENT: output ")) << refusal;
    EXPECT_NE(refusal.find("is a link"), std::string::npos) << refusal;
  }
}

TEST_F(ForeignAttack, AnOutputsParentReplacedByALinkLeadsNowhere) {
  command_.add_output_paths("out/passwd");
  EXPECT_EQ(errorOf("rmdir out; ln -s /etc out"),
            "INVALID_ARGUMENT: output out/passwd: out above it is a symbolic link, which is not followed");
  EXPECT_EQ(errorOf("rmdir out; mkdir real; echo x >real/passwd; ln -s real out"),
            "INVALID_ARGUMENT: output out/passwd: out above it is a symbolic link, which is not followed");
  const auto file = run("rmdir out; echo >out");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->output_files_size(), 0);
}

TEST_F(ForeignAttack, WhatIsNeitherFileNorDirectoryNorLinkIsRefused) {
  command_.add_output_paths("o");
  EXPECT_EQ(errorOf("mkfifo o"),
            "INVALID_ARGUMENT: output o is a FIFO; only regular files, directories and "
            "symbolic links are collected");
  EXPECT_THAT(errorOf("mkdir o; mkfifo o/deep"), HasSubstr("output o/deep is a FIFO"));
  EXPECT_THAT(said("hostile calls"), HasSubstr("mknod: Function not implemented"));
  const auto twice = run("mkdir o; echo x >o/one; ln o/one o/two");
  ASSERT_TRUE(twice) << twice.error().message;
  reapi::Tree tree;
  ASSERT_TRUE(tree.ParseFromString(get(twice->output_directories(0).tree_digest())));
  ASSERT_EQ(tree.root().files_size(), 2);
  EXPECT_EQ(tree.root().files(0).digest().hash(), tree.root().files(1).digest().hash());
  EXPECT_THAT(said("ln /usr/bin/sh here; ln /dev/null there; ls"), Not(HasSubstr("here\n")))
      << "nothing outside the input root gets a name in it";
}

TEST_F(ForeignAttack, NamesThatNoMessageCanHoldAndClosedEntriesAreNamed) {
  command_.add_output_paths("o");
  EXPECT_EQ(errorOf("mkdir o; echo >\"o/new\nline\""),
            "INVALID_ARGUMENT: output o/new?line: the name is not UTF-8 without control characters");
  EXPECT_THAT(errorOf("mkdir o; echo >$(printf 'o/\\377\\376')"),
              HasSubstr("the name is not UTF-8 without control characters"));
  EXPECT_THAT(errorOf("ln -s $(printf '\\377') o"), HasSubstr("whose target is not UTF-8"));
  EXPECT_THAT(errorOf("echo >o; chmod 000 o"), HasSubstr("output o: its mode keeps its own user out"));
  EXPECT_THAT(errorOf("mkdir o; echo >o/f; chmod 000 o"),
              HasSubstr("output o: its mode keeps its own user out"));
  EXPECT_EQ(said("ls -A"), "") << "and what was closed is gone with the slot";
}

TEST_F(ForeignAttack, DeepWideAndLargeTreesAreEndedAtTheirLimits) {
  const std::string dig =
      "i=0; while [ $i -lt 200 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done; exec sleep 60";
  EXPECT_EQ(errorOf(dig), "OUT_OF_RANGE: output: more than 96 levels of directories");
  policy_.limits.outputFiles = 100;
  policy_.limits.outputBytes = 4 << 20;
  open();
  EXPECT_EQ(errorOf("i=0; while :; do echo >f$i; i=$((i+1)); done"),
            "OUT_OF_RANGE: output: more than 100 files and directories");
  EXPECT_EQ(errorOf("dd if=/dev/zero of=f bs=1024 count=8192 2>/dev/null; exec sleep 60"),
            "OUT_OF_RANGE: output: more than 4194304 bytes in all");
  EXPECT_EQ(errorOf("(dd if=/dev/zero bs=1024 count=8192 2>/dev/null; exec sleep 60) >f & rm f; wait"),
            "OUT_OF_RANGE: output: more than 4194304 bytes in all")
      << "a file without a name counts too";
  // What was given does not count.
  for (int i = 0; i < 120; ++i) addInput("in/" + std::to_string(i), std::string(50000, 'x'));
  EXPECT_EQ(said("sleep 0.3; echo done"), "done\n");
  EXPECT_FALSE(retryable(run("i=0; while :; do echo >f$i; i=$((i+1)); done").error()));
}

TEST_F(ForeignAttack, ForkBombsAndWhatIsLeftBehindEndWithTheAction) {
  policy_.limits.processes = 60;
  open();
  (void)run("b() { b | b & }; b; sleep 1");
  EXPECT_EQ(survivors(), 0);
  EXPECT_LE(std::stoi("0" + run("exec hostile forkbomb")->stdout_raw()), 62);
  EXPECT_EQ(survivors(), 0);
  EXPECT_EQ(
      said("for i in 1 2 3 4 5; do (trap '' HUP TERM INT; exec sleep 600) >/dev/null 2>&1 & done; echo gone"),
      "gone\n");
  EXPECT_EQ(survivors(), 0);
  EXPECT_THAT(said("mkdir output; hostile survive"), HasSubstr("planted\n"));
  EXPECT_EQ(survivors(), 0);
}

TEST_F(ForeignAttack, ProcessOneIsTheActionsOwn) {
  EXPECT_EQ(said("echo $$; kill -KILL 1; kill -TERM 1; kill -KILL -1 2>/dev/null; echo alive"), "1\nalive\n");
  EXPECT_EQ(said("sleep 600 & kill -STOP $!; kill -KILL $!; wait; echo $?"), "0\n");
  EXPECT_THAT(said("hostile proc"), Not(HasSubstr("done")));
  EXPECT_THAT(said("ls -d /proc/[0-9]*"), HasSubstr("/proc/1\n"));
  EXPECT_THAT(said("cat /proc/1/environ"), Not(HasSubstr("HOME")));
}

TEST_F(ForeignAttack, CallsThatReachTheKernelOrOthersAreRefused) {
  command_.add_output_paths("output/x");
  const std::string calls = "\n" + said("hostile calls; hostile kernel");
  EXPECT_THAT(calls, HasSubstr("symlink: done"));
  for (const char* call : {"ptrace",           "mount",        "unshare",         "clone",
                           "keyctl",           "bpf",          "perf_event_open", "io_uring_setup",
                           "process_vm_readv", "socket",       "netlink",         "setuid",
                           "setresuid",        "chroot",       "setns",           "fchmod set-uid",
                           "chmod set-gid",    "open set-uid", "pidfd_open",      "clone3",
                           "umount2",          "pivot_root",   "setxattr",        "filter",
                           "dumpable"})
    EXPECT_THAT(calls, HasSubstr("\n" + std::string(call) + ": Function not implemented")) << call;
  EXPECT_THAT(said("cp /bin/cat c; chmod 4755 c; chmod u+s c; ls -l c"), HasSubstr("-r-xr-xr-x 1"));
}

TEST_F(ForeignAttack, TheNetworkIsNotThere) {
  EXPECT_EQ(said("hostile reach 22 kiln-worker-uids-0"),
            "inet: Function not implemented\nabstract: Function not implemented\n");
  EXPECT_EQ(said("cat /proc/net/unix | wc -l; cat /proc/net/tcp | wc -l"), "1\n1\n");
}

TEST_F(ForeignAttack, SharedTreesAreNeitherWrittenNorLocked) {
  EXPECT_THAT(said("echo x >/usr/bin/new; echo x >/new; echo x >>/usr/bin/sh; rm /usr/bin/cat; "
                   "chmod 777 /usr/bin/cat; mv /bin /b; mkdir /dev/d; touch /lib64/ld-linux-x86-64.so.2"),
              Not(HasSubstr("done")));
  EXPECT_EQ(said("cat /usr/bin/sh | wc -c"), std::to_string(std::filesystem::file_size("/bin/sh")) + "\n");
  const std::string shared = said("hostile share /usr/bin/sh");
  EXPECT_THAT(shared, HasSubstr("open: done\n"));
  EXPECT_THAT(shared.substr(shared.find('\n') + 1), Not(HasSubstr("done")));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ + "/state/toolchains")) {
    struct stat info{};
    ASSERT_EQ(lstat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, geteuid()) << entry.path();
    if (entry.is_regular_file() && !entry.is_symlink()) {
      EXPECT_EQ(info.st_mode & 0222, 0u) << entry.path();
      EXPECT_EQ(info.st_nlink, 1u) << entry.path();
    }
  }
}

TEST_F(ForeignAttack, TmpIsBoundedAndTheNextActionsIsEmpty) {
  policy_.limits.tmpBytes = 2 << 20;
  open();
  EXPECT_THAT(said("echo left >/tmp/left; mkdir /tmp/.d; dd if=/dev/zero of=/tmp/fill bs=65536"),
              HasSubstr("No space left on device"));
  EXPECT_EQ(said("ls -A /tmp; echo >/tmp/x && cat /tmp/x"), "\n");
  EXPECT_EQ(said("cp /bin/cat /tmp/c && echo ran | /tmp/c"), "ran\n");
}

TEST_F(ForeignAttack, AFloodOfOutputIsCutInTheMiddle) {
  policy_.limits.logBytes = 64 << 10;
  open();
  const auto result = run("echo first; dd if=/dev/zero bs=65536 count=2000 2>/dev/null; echo last");
  ASSERT_TRUE(result) << result.error().message;
  const std::string log = result->has_stdout_digest() ? get(result->stdout_digest()) : result->stdout_raw();
  EXPECT_LT(log.size(), 70u << 10);
  EXPECT_THAT(log.substr(0, 6), "first\n");
  EXPECT_THAT(log, HasSubstr(" bytes left out]"));
  EXPECT_THAT(log.substr(log.size() - 5), "last\n");
}

TEST_F(ForeignAttack, TheEnvironmentIsTheCommandsAlone) {
  setenv("KILN_SECRET", "worker's", 1);
  EXPECT_EQ(runArguments({"/usr/bin/env"})->stdout_raw(), "PATH=/usr/bin\nPWD=/work\n");
  unsetenv("KILN_SECRET");
}

TEST_F(ForeignAttack, DescriptorsAreLinkedAndLeadToItsOwn) {
  EXPECT_EQ(said("echo in | cat /dev/stdin; echo err >/dev/stderr; ls /dev/fd | wc -l"), "in\n4\nerr\n");
}

TEST_F(ForeignAttack, NothingOfOneActionIsThereForTheNext) {
  const std::string look = "ls -AR . /tmp; env; echo $$";
  const std::string before = said(look);
  command_.add_output_paths("o");
  (void)run("echo >planted; echo >/tmp/planted; mkdir -p a/b/c; chmod 000 a; sleep 600 >/dev/null 2>&1 &");
  (void)run("mkfifo o");
  command_.clear_output_paths();
  EXPECT_EQ(said(look), before);
  EXPECT_TRUE(std::filesystem::is_empty(dir_ + "/state/slots"));
}

TEST_F(ForeignAttack, EndlessActionsEndAtTheirTimeAndProcessorLimits) {
  action_.mutable_timeout()->set_seconds(1);
  EXPECT_EQ(errorOf("while :; do :; done"), "DEADLINE_EXCEEDED: time limit: still running after 1 s");
  EXPECT_EQ(errorOf("sleep 600 & sleep 600"), "DEADLINE_EXCEEDED: time limit: still running after 1 s");
  EXPECT_EQ(survivors(), 0);
  action_.clear_timeout();
  policy_.limits.cpuSeconds = 1;
  open();
  const auto spun = run("hostile spin; echo $?");
  ASSERT_TRUE(spun) << spun.error().message;
  EXPECT_THAT(spun->stdout_raw(), AnyOf("137\n", "152\n"));
}

TEST_F(ForeignAttack, HostileInputTreesAreRefused) {
  const auto with = [&](const std::function<void(reapi::Directory&)>& fill) {
    reapi::Directory root;
    fill(root);
    reapi::Command command = command_;
    command.add_arguments("/bin/sh");
    reapi::Action action;
    *action.mutable_command_digest() = toProto(put(command.SerializeAsString()));
    *action.mutable_input_root_digest() = toProto(put(root.SerializeAsString()));
    ActionRequest request;
    request.instance = kInstance;
    request.action = put(action.SerializeAsString());
    request.profile = Profile::kForeign;
    const auto result = executor_->run(request);
    return result ? "none" : std::string(codeName(result.error().code)) + ": " + result.error().message;
  };
  EXPECT_EQ(with([](reapi::Directory&) {}), "none");
  for (const std::string target : {"/etc/passwd", "../x", "a/../../x", ""})
    EXPECT_THAT(with([&](reapi::Directory& root) {
                  auto* link = root.add_symlinks();
                  link->set_name("link");
                  link->set_target(target);
                }),
                HasSubstr("INVALID_ARGUMENT: input tree: "))
        << target;
  for (const std::string name : {"..", ".", "", "a/b", "new\nline"})
    EXPECT_THAT(with([&](reapi::Directory& root) {
                  auto* file = root.add_files();
                  file->set_name(name);
                  *file->mutable_digest() = toProto(put("x"));
                }),
                HasSubstr("INVALID_ARGUMENT: input tree: "))
        << name;
  EXPECT_THAT(with([](reapi::Directory& root) {
                auto* file = root.add_files();
                file->set_name("absent");
                *file->mutable_digest() = toProto(digestOf("absent"));
              }),
              HasSubstr("NOT_FOUND: input tree: "));
}

TEST(AsOrdinaryUser, TheForeignAttacksFailToo) {
  sandbox::runAgainAsOrdinaryUser("ForeignAttack.*");
}

}  // namespace
}  // namespace kiln::executor
