// Actions from the store to the store, with the misbehaving program as the toolchain.
#include "worker/executor/executor.h"
#include "worker/executor/input_root.h"
#include "worker/executor/termination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/memory_blob_store.h"
#include "tests/worker/sandbox_fixture.h"

namespace kiln::executor {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kInstance = "default";

class ExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-executor-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    store_ = std::make_unique<testing_support::MemoryBlobStore>();
    auto sandbox = sandbox::Sandbox::make(sandbox::compilePolicy(), sandbox::Host::detect());
    ASSERT_TRUE(sandbox);
    sandbox_.emplace(std::move(*sandbox));
    auto executor = Executor::make(*store_, *sandbox_, dir_ + "/state");
    ASSERT_TRUE(executor) << executor.error().message;
    executor_ = std::move(*executor);

    std::ifstream file(sandbox::hostilePath(), std::ios::binary);
    std::stringstream tool;
    tool << file.rdbuf();
    reapi::Directory bin, toolchain;
    addFile(bin, "tool", tool.str(), true);
    addDirectory(toolchain, "bin", bin);
    addDirectory(root_, "toolchain", toolchain);
    command_.add_arguments("toolchain/bin/tool");
    command_.add_output_paths("output");
  }
  void TearDown() override {
    executor_.reset();
    store_.reset();
    EXPECT_TRUE(sandbox::removeTree(dir_));
  }

  Digest put(const std::string& bytes) {
    auto digest = storage::putBlob(*store_, kInstance, asBytes(bytes));
    EXPECT_TRUE(digest) << digest.error().message;
    return *digest;
  }
  void addFile(reapi::Directory& to, const std::string& name, const std::string& bytes,
               bool executable = false) {
    auto* node = to.add_files();
    node->set_name(name);
    node->set_is_executable(executable);
    *node->mutable_digest() = toProto(put(bytes));
  }
  void addDirectory(reapi::Directory& to, const std::string& name, const reapi::Directory& child) {
    auto* node = to.add_directories();
    node->set_name(name);
    *node->mutable_digest() = toProto(put(child.SerializeAsString()));
  }

  ActionRequest request(const std::vector<std::string>& arguments) {
    reapi::Command command = command_;
    for (const std::string& argument : arguments) command.add_arguments(argument);
    reapi::Action action = action_;
    *action.mutable_command_digest() = toProto(put(command.SerializeAsString()));
    *action.mutable_input_root_digest() = toProto(put(root_.SerializeAsString()));
    ActionRequest request;
    request.instance = kInstance;
    request.action = put(action.SerializeAsString());
    return request;
  }
  Result<reapi::ActionResult> run(const std::vector<std::string>& arguments) {
    return executor_->run(request(arguments));
  }
  std::string errorOf(const std::vector<std::string>& arguments) {
    const auto result = run(arguments);
    return result ? "no error" : std::string(codeName(result.error().code)) + ": " + result.error().message;
  }

  std::string dir_;
  std::unique_ptr<storage::BlobStore> store_;
  std::optional<sandbox::Sandbox> sandbox_;
  std::unique_ptr<Executor> executor_;
  reapi::Directory root_;
  reapi::Command command_;
  reapi::Action action_;
};

TEST_F(ExecutorTest, OutputsAreInTheStoreUnderPathsRelativeToTheWorkingDirectory) {
  const auto result = run({"write", "output/program.so", "bytes"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_code(), 0);
  ASSERT_EQ(result->output_files_size(), 1);
  EXPECT_EQ(result->output_files(0).path(), "output/program.so");
  EXPECT_TRUE(result->output_files(0).is_executable());
  const auto digest = fromProto(result->output_files(0).digest());
  EXPECT_EQ(*digest, digestOf("bytes"));
  EXPECT_EQ(*storage::getBlob(*store_, kInstance, *digest, 100), "bytes");
}

TEST_F(ExecutorTest, ThePolicyIsInTheStoreUnderItsDigest) {
  const auto policy = executor_->storePolicy(kInstance);
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(*policy, *sandbox::compilePolicy().digest());
  EXPECT_EQ(*storage::getBlob(*store_, kInstance, *policy, 64 << 10),
            *toCanonicalJson(sandbox::compilePolicy().toJson()));
  EXPECT_EQ(*executor_->storePolicy(kInstance), *policy);
}

TEST_F(ExecutorTest, TheEnvironmentIsTheActions) {
  for (const auto& [name, value] : {std::pair{"HOME", "/nonexistent"}, {"TZ", "UTC"}}) {
    auto* variable = command_.add_environment_variables();
    variable->set_name(name);
    variable->set_value(value);
  }
  const auto result = run({"facts"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->stdout_raw(),
              HasSubstr("host localhost\nenv HOME=/nonexistent\nenv TZ=UTC\nenv PWD=/work\nfd 0"));
  EXPECT_THAT(result->stdout_raw(), HasSubstr("cwd /work\nls /: dev work\n"));
  EXPECT_THAT(result->stdout_raw(), HasSubstr("ls /work: output toolchain\n"));
}

TEST_F(ExecutorTest, AFailingToolIsAResultWithoutOutputs) {
  const auto result = run({"exit", "4"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_code(), 4);
  EXPECT_EQ(result->output_files_size(), 0);
}

TEST_F(ExecutorTest, Case19JobOneLeavesNothingForJobTwo) {
  const std::string before = run({"facts"})->stdout_raw();
  ASSERT_TRUE(run({"write", "output/planted", "x"}));
  EXPECT_THAT(errorOf({"outputs", "closed"}), HasSubstr("output closed: its mode keeps its own user out"));
  (void)run({"outputs", "deep"});
  EXPECT_EQ(run({"survive"})->exit_code(), 0);
  EXPECT_EQ(run({"facts"})->stdout_raw(), before);
  EXPECT_TRUE(std::filesystem::is_empty(dir_ + "/state/slots"));
}

// The lines of `text` that begin with one of `names`, or all others.
std::string linesOf(const std::string& text, const std::vector<std::string>& names, bool named) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const bool found =
        std::ranges::any_of(names, [&](const std::string& name) { return line.starts_with(name); });
    if (found == named) out += line + "\n";
  }
  return out;
}

// What the kernel lets us hide is the same for every action, on a cold and on a warm toolchain, in any state
// directory, under any umask. What it does not let us hide differs from run to run, so that builders who let
// it into their outputs disagree: tests/fault/quorum_test.cc has such a compiler.
TEST_F(ExecutorTest, Case28WhatIsNoInputIsTheSameOrFoundByARebuild) {
  const std::vector<std::string> drifting = {"AT_RANDOM: ", "clock: ", "rdtsc: "};
  const std::string cold = run({"tell"})->stdout_raw(), warm = run({"tell"})->stdout_raw();
  const mode_t mask = umask(0077);
  const std::string away = dir_ + "/elsewhere/a/longer/path";
  ASSERT_TRUE(std::filesystem::create_directories(away));
  auto other = Executor::make(*store_, *sandbox_, away);
  ASSERT_TRUE(other) << other.error().message;
  const auto moved = (*other)->run(request({"tell"}));
  umask(mask);

  const std::string hidden = linesOf(cold, drifting, false);
  EXPECT_THAT(hidden, HasSubstr("links: 1 "));
  EXPECT_THAT(hidden, HasSubstr("mtime: 1 1\n"));
  EXPECT_EQ(linesOf(warm, drifting, false), hidden);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(linesOf(moved->stdout_raw(), drifting, false), hidden) << moved->stderr_raw();
  for (const std::string& name : drifting) {
    EXPECT_NE(linesOf(cold, {name}, true), linesOf(warm, {name}, true)) << name;
  }
}

// No file of an action is another name of something that is kept: what it could write to is its own.
TEST_F(ExecutorTest, Case30NothingIsWrittenThroughALink) {
  reapi::Directory input, root;
  addFile(input, "model.onnx", "model");
  addDirectory(root, "input", input);
  root.MergeFrom(root_);
  std::swap(root_, root);
  const auto spoilt = run({"spoil"});
  ASSERT_TRUE(spoilt) << spoilt.error().message;
  EXPECT_THAT(spoilt->stdout_raw(), HasSubstr("create: Read-only file system\n"));
  EXPECT_THAT(spoilt->stdout_raw(), Not(HasSubstr("done")));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ + "/state/toolchains")) {
    struct stat info{};
    ASSERT_EQ(lstat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, geteuid()) << entry.path() << ": not the action's";
    if (entry.is_regular_file()) {
      EXPECT_EQ(info.st_mode & 0222, 0u) << entry.path();
      EXPECT_EQ(info.st_nlink, 1u) << entry.path();
    }
  }
  EXPECT_EQ(*storage::getBlob(*store_, kInstance, digestOf("model"), 100), "model");
}

TEST_F(ExecutorTest, BadOutputsFailTheAction) {
  // The same whether the watch meets it while the tool still runs or the walk does afterwards: not retried.
  EXPECT_EQ(errorOf({"outputs", "deep"}), "OUT_OF_RANGE: output: more than 8 levels of directories");
  EXPECT_FALSE(retryable(run({"outputs", "deep"}).error()));
}

TEST_F(ExecutorTest, StagesAreReportedAndNothingElse) {
  EXPECT_EQ(stageOf("stage: codegen"), "codegen");
  EXPECT_EQ(stageOf("stage: "), "");
  EXPECT_EQ(stageOf("stage: <script>"), "");
  EXPECT_EQ(stageOf("stage: " + std::string(33, 'a')), "");
  EXPECT_EQ(stageOf("stages: a"), "");
  EXPECT_EQ(stageOf("tune: kernel 3/12 gemm best 1.2 ms of default 1.5 ms, time left 40 s"),
            "tune: kernel 3/12 gemm best 1.2 ms of default 1.5 ms, time left 40 s");
  EXPECT_EQ(stageOf("tune: \x1b[31mred"), "");
  EXPECT_EQ(stageOf("tune: " + std::string(200, 'a')), "");
  std::vector<std::string> stages;
  sandbox::Cancel cancel;
  ActionRequest sleeping = request({"sleep"});
  sleeping.cancel = &cancel;
  sleeping.onStage = [&](const std::string& stage) {
    stages.push_back(stage);
    cancel.request();
  };
  std::vector<Duration> ran;
  sleeping.onSandboxEnd = [&](Duration took) { ran.push_back(took); };
  const auto result = executor_->run(sleeping);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kCancelled);
  EXPECT_EQ(stages, std::vector<std::string>{"sleeping"});
  ASSERT_EQ(ran.size(), 1u);
  EXPECT_GT(ran[0], Duration::zero());
}

TEST_F(ExecutorTest, WhatIsKeptOfAnActionThatWasEndedCountsAlone) {
  sandbox::Cancel cancel;
  ActionRequest measuring = request({"sleep", "/work/output/record", "what is known"});
  measuring.cancel = &cancel;
  measuring.onStage = [&](const std::string&) { cancel.request(); };
  measuring.keptWhenEnded = "record";
  const auto cancelled = executor_->run(measuring);
  ASSERT_TRUE(cancelled) << cancelled.error().message;
  EXPECT_EQ(cancelled->exit_code(), 0);
  ASSERT_EQ(cancelled->output_files_size(), 1);
  EXPECT_EQ(cancelled->output_files(0).path(), "output/record");
  ActionRequest slow = request({"sleep", "/work/output/record", "what is known"});
  slow.timeLimit = std::chrono::seconds(1);
  slow.keptWhenEnded = "record";
  EXPECT_TRUE(executor_->run(slow));
  slow.keptWhenEnded = "another";
  EXPECT_EQ(executor_->run(slow).error().code, Code::kDeadlineExceeded);
  ActionRequest crashing = request({"abort", "/work/output/record", "what is known"});
  EXPECT_EQ(executor_->run(crashing)->output_files_size(), 0);
  crashing.keptWhenEnded = "record";
  const auto crashed = executor_->run(crashing);
  ASSERT_TRUE(crashed) << crashed.error().message;
  EXPECT_EQ(crashed->exit_code(), 0);
  EXPECT_EQ(crashed->output_files_size(), 1);
}

TEST_F(ExecutorTest, TheShorterTimeLimitHolds) {
  ActionRequest slow = request({"sleep"});
  slow.timeLimit = std::chrono::seconds(1);
  const auto result = executor_->run(slow);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(result.error().message, "time limit: still running after 1 s");
  EXPECT_FALSE(retryable(result.error()));
}

TEST_F(ExecutorTest, TheActionsOwnTimeoutHoldsBesideTheLeases) {
  const auto ended = [&](std::int64_t seconds, int nanos, Duration lease) {
    action_.mutable_timeout()->set_seconds(seconds);
    action_.mutable_timeout()->set_nanos(nanos);
    ActionRequest slow = request({"sleep"});
    slow.timeLimit = lease;
    const auto begin = std::chrono::steady_clock::now();
    const auto result = executor_->run(slow);
    EXPECT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kDeadlineExceeded);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    return result.error().message;
  };
  const std::string one = "time limit: still running after 1 s";
  EXPECT_EQ(ended(1, 0, {}), one) << "the lease has none";
  EXPECT_EQ(ended(1, 0, std::chrono::seconds(60)), one) << "the action's is shorter";
  EXPECT_EQ(ended(60, 0, std::chrono::seconds(1)), one) << "the lease's is shorter";
  EXPECT_EQ(ended(0, 300'000'000, {}), "time limit: still running after 0 s");
}

TEST_F(ExecutorTest, LongLogsBecomeBlobs) {
  const auto result = run({"flood"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->stderr_raw(), "");
  const auto log = storage::getBlob(*store_, kInstance, *fromProto(result->stderr_digest()), 2 << 20);
  ASSERT_TRUE(log);
  EXPECT_TRUE(log->ends_with("the end\n"));
}

TEST_F(ExecutorTest, ToolchainsAreWrittenOnceAndAgainWhenTouched) {
  ASSERT_TRUE(run({"exit", "0"}));
  ASSERT_EQ(executor_->warmToolchains().size(), 1u);
  EXPECT_EQ(executor_->warmToolchains()[0], root_.directories(0).digest().hash());
  std::string first;
  for (const auto& entry : std::filesystem::directory_iterator(dir_ + "/state/toolchains"))
    first = entry.path();
  const std::string tool = first + "/bin/tool";
  struct stat info{};
  ASSERT_EQ(stat(tool.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0555u);
  EXPECT_EQ(info.st_mtime, 1);
  ASSERT_TRUE(run({"exit", "0"}));
  EXPECT_EQ(access(tool.c_str(), F_OK), 0) << "used again";
  // Somebody writes into the cached tree: noticed before the next use.
  ASSERT_EQ(chmod(tool.c_str(), 0755), 0);
  std::ofstream(tool) << "something else";
  const auto result = run({"exit", "5"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_code(), 5);
  EXPECT_NE(access(tool.c_str(), F_OK), 0);
}

TEST_F(ExecutorTest, MissingBlobsAndMalformedActionsAreNamed) {
  ActionRequest absent = request({"exit", "0"});
  absent.action = digestOf("never stored");
  EXPECT_EQ(executor_->run(absent).error().code, Code::kNotFound);
  ActionRequest junk = request({"exit", "0"});
  junk.action = put("\xff\xff junk");
  EXPECT_EQ(executor_->run(junk).error().code, Code::kInvalidArgument);
  command_.set_working_directory("elsewhere");
  EXPECT_THAT(errorOf({"exit"}), HasSubstr("INVALID_ARGUMENT: command: a working directory"));
  command_.clear_working_directory();
  command_.set_output_paths(0, "../escape");
  EXPECT_THAT(errorOf({"exit"}), HasSubstr("INVALID_ARGUMENT: command: the output path"));
}

TEST_F(ExecutorTest, HostileInputTreesAreRefused) {
  const auto with = [&](const std::string& name) {
    reapi::Directory bad = root_;
    addFile(bad, name, "x");
    std::swap(root_, bad);
    const std::string error = errorOf({"exit", "0"});
    std::swap(root_, bad);
    return error;
  };
  for (const char* name : {"..", ".", "", "a/b", "../../etc/cron.d/x"}) {
    EXPECT_THAT(with(name), HasSubstr("INVALID_ARGUMENT: input tree: ")) << name;
  }
  EXPECT_THAT(with("toolchain"), HasSubstr("INVALID_ARGUMENT: input tree: "));
  EXPECT_THAT(with("output"), HasSubstr("output is the output directory"));
  EXPECT_EQ(with("fine"), "no error");
  auto* link = root_.add_symlinks();
  link->set_name("link");
  link->set_target("input/model.onnx");
  EXPECT_THAT(errorOf({"exit", "0"}), HasSubstr("symbolic links in the root are not served"));
  link->set_target("/etc/passwd");
  EXPECT_THAT(errorOf({"exit", "0"}), HasSubstr("INVALID_ARGUMENT: input tree: "));
  root_.clear_symlinks();
  addFile(root_, "b", "x");
  addFile(root_, "a", "x");
  EXPECT_THAT(errorOf({"exit", "0"}), HasSubstr("INVALID_ARGUMENT: input tree: "));
}

TEST_F(ExecutorTest, TruncatedAndMutatedDirectoriesNeverCrash) {
  const std::string good = root_.SerializeAsString();
  for (std::size_t i = 0; i < good.size(); i += 3) {
    for (const std::string& bad : {good.substr(0, i), [&] {
                                     std::string flipped = good;
                                     flipped[i] = static_cast<char>(flipped[i] ^ 0x11);
                                     return flipped;
                                   }()}) {
      const std::string path = dir_ + "/tree";
      const auto written = writeInputRoot(*store_, kInstance, put(bad), "toolchain", path);
      if (written) {
        EXPECT_TRUE(sandbox::removeTree(path));
      }
      EXPECT_NE(access(path.c_str(), F_OK), 0) << "a failure leaves nothing";
    }
  }
}

TEST(AsOrdinaryUser, TheExecutorsTestsPass) {
  sandbox::runAgainAsOrdinaryUser("ExecutorTest.*");
}

}  // namespace
}  // namespace kiln::executor
