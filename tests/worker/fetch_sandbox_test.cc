// The fetcher's confinement and its results, with a shell script in kiln-fetcher's place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/git_fixture.h"
#include "tests/support/memory_blob_store.h"
#include "worker/executor/fetcher.h"
#include "worker/sandbox/outputs.h"

namespace kiln::executor {
namespace {

using testing::HasSubstr;

class FetchSandbox : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-fetch-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    options_.program = dir_ + "/fetcher";
    options_.hosts = {"git.example.org", "other.example.org:8443"};
  }
  void TearDown() override { EXPECT_TRUE(sandbox::removeTree(dir_)); }

  Result<reapi::ActionResult> run(const std::string& script) {
    std::ofstream(options_.program) << "#!/usr/bin/sh\n" << script;
    if (chmod(options_.program.c_str(), 0755) != 0) return fail(Code::kInternal, "chmod");
    auto sandbox = sandbox::Sandbox::make(sandbox::fetchPolicy(), sandbox::Host::detect());
    auto fetcher = Fetcher::make(store_, std::move(*sandbox), dir_ + "/state", options_);
    if (!fetcher) return fail(fetcher.error());
    FetchRequest request;
    request.instance = "default";
    request.url = "https://git.example.org/m.git";
    request.commit = std::string(40, 'a');
    request.path = "nets/m.onnx";
    return (*fetcher)->run(request);
  }

  std::string dir_;
  FetchOptions options_;
  testing_support::MemoryBlobStore store_;
};

TEST_F(FetchSandbox, FilesComeBackAsBlobsAndTheFlagsAreTheLeases) {
  const auto result = run("echo \"$@\"; printf model >/work/output/m.onnx; mkdir w; printf data >w/1.bin\n");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_code(), 0) << result->stderr_raw();
  EXPECT_EQ(result->stdout_raw(),
            "--url https://git.example.org/m.git --commit " + std::string(40, 'a') +
                " --path nets/m.onnx --hosts git.example.org,other.example.org:8443 --out "
                "/work/output\n");
  ASSERT_EQ(result->output_files_size(), 2);
  EXPECT_EQ(result->output_files(0).path(), "output/m.onnx");
  EXPECT_EQ(result->output_files(1).path(), "output/w/1.bin");
  EXPECT_EQ(*storage::getBlob(store_, "default", digestOf("data"), 100), "data");
}

TEST_F(FetchSandbox, Case26NothingOfTheFarmIsBesideIt) {
  const auto result = run("/usr/bin/ls / /etc; test -e '" + dir_ +
                          "' && echo seen; test -w /usr && echo writable; "
                          "/usr/bin/env; exit 0\n");
  ASSERT_TRUE(result) << result.error().message;
  for (const char* hidden :
       {"root", "home", "tmp", "var", "proc", "work/", "passwd", "shadow", "seen", "writable"}) {
    EXPECT_THAT("\n" + result->stdout_raw(), testing::Not(HasSubstr(std::string("\n") + hidden + "\n")))
        << hidden;
  }
  EXPECT_THAT(result->stdout_raw(), HasSubstr("HOME=/nonexistent\n"));
}

TEST_F(FetchSandbox, Case26CredentialsAreACopyThatOnlyThisFetchSees) {
  ASSERT_EQ(mkdir((dir_ + "/secrets").c_str(), 0700), 0);
  std::ofstream(dir_ + "/secrets/git") << "token=abc\n";
  ASSERT_EQ(chmod((dir_ + "/secrets/git").c_str(), 0600), 0);
  options_.credentials = dir_ + "/secrets";
  const auto result =
      run("echo \"$@\" | /usr/bin/grep -o -- '--credentials.*'; /usr/bin/cat /credentials/git; "
          "/usr/bin/stat -c %a /credentials/git; echo x >/credentials/git && echo wrote; exit 0\n");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->stdout_raw(), "--credentials /credentials/git\ntoken=abc\n400\n") << result->stderr_raw();
  EXPECT_TRUE(std::filesystem::is_empty(dir_ + "/state")) << "the copy is gone";
}

TEST_F(FetchSandbox, TroubleWithTheNetworkMayBeTriedAgainAndOtherFailuresAreResults) {
  const auto away =
      run("echo 'stage: fetch' >&2; "
          "echo '{\"error\":{\"code\":\"UNAVAILABLE\",\"message\":\"no route\"}}' >&2; exit 7\n");
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, Code::kUnavailable);
  EXPECT_EQ(away.error().message, "fetch: no route");
  for (const char* odd :
       {"exit 7", "echo '{\"error\":{\"message\":4}}' >&2; exit 7", "echo '[]' >&2; exit 7"}) {
    EXPECT_EQ(run(odd).error().message, "fetch: the source cannot be reached") << odd;
  }
  const auto missing = run("echo '{\"error\":{}}' >&2; printf x >half; exit 6\n");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->exit_code(), 6);
  EXPECT_EQ(missing->output_files_size(), 0);
}

// It would go beyond it again: a result, which ends the job, and no error, after which it is tried elsewhere.
TEST_F(FetchSandbox, ASourceThatGoesBeyondALimitOfTheSandboxIsOverBudget) {
  const auto deep =
      run("d=/work/output; i=0; while [ $i -lt 40 ]; do d=$d/a; i=$((i+1)); done\n"
          "/usr/bin/mkdir -p $d; while :; do :; done\n");
  ASSERT_TRUE(deep) << deep.error().message;
  EXPECT_EQ(deep->exit_code(), 4);
  EXPECT_THAT(deep->stderr_raw(), HasSubstr("https://git.example.org/m.git: "));
  EXPECT_EQ(deep->output_files_size(), 0);
}

TEST_F(FetchSandbox, AMissingProgramIsSaidAtTheStart) {
  auto sandbox = sandbox::Sandbox::make(sandbox::fetchPolicy(), sandbox::Host::detect());
  const auto fetcher = Fetcher::make(store_, std::move(*sandbox), dir_ + "/state",
                                     {"/nonexistent/kiln-fetcher", {}, "", "", ""});
  ASSERT_FALSE(fetcher);
  EXPECT_EQ(fetcher.error().code, Code::kFailedPrecondition);
}

// kiln-fetcher itself, over TLS, from a server of this host: name resolution, certificates, libgit2, libcurl
// for what Git LFS keeps, and the model's data all work inside; and the certificate matters.
TEST_F(FetchSandbox, TheRealFetcherReadsACommitOverTls) {
#ifdef KILN_SANITIZED
  GTEST_SKIP() << "a sanitized kiln-fetcher wants more address space than the policy gives";
#endif
  testing_support::GitFixture git;
  git.add("nets/m.onnx", "model bytes");
  git.addLarge("nets/large.onnx", "large model bytes");
  const std::string commit = git.commit();
  testing_support::GitHttpServer server(std::filesystem::path(git.directory()).parent_path());
  FILE* front = popen(("python3 " KILN_TEST_TLS_FRONT " " + dir_ + " " + server.host()).c_str(), "w");
  ASSERT_NE(front, nullptr);
  std::string port;
  for (int i = 0; i < 1000 && port.empty(); ++i) {
    std::ifstream(dir_ + "/port") >> port;
    if (port.empty()) usleep(10'000);
  }
  const auto fetch = [&](const std::string& caFile, const std::string& path = "nets/m.onnx") {
    auto sandbox = sandbox::Sandbox::make(sandbox::fetchPolicy(), sandbox::Host::detect());
    auto fetcher = Fetcher::make(store_, std::move(*sandbox), dir_ + "/state",
                                 {KILN_TEST_FETCHER, {"localhost:" + port}, "", caFile, ""});
    return (*fetcher)->run({"default", "https://localhost:" + port + "/work/.git", commit, path, 0, {}, {}});
  };
  const auto result = fetch(dir_ + "/ca.pem");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_code(), 0) << result->stderr_raw();
  ASSERT_EQ(result->output_files_size(), 1);
  EXPECT_EQ(result->output_files(0).path(), "output/m.onnx");
  EXPECT_EQ(*fromProto(result->output_files(0).digest()), digestOf("model bytes"));
  const auto large = fetch(dir_ + "/ca.pem", "nets/large.onnx");
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->exit_code(), 0) << large->stderr_raw();
  ASSERT_EQ(large->output_files_size(), 1);
  EXPECT_EQ(*fromProto(large->output_files(0).digest()), digestOf("large model bytes"));
  const auto distrusted = fetch("");
  ASSERT_TRUE(distrusted) << distrusted.error().message;
  EXPECT_EQ(distrusted->exit_code(), 8) << distrusted->stderr_raw();
  pclose(front);
}

}  // namespace
}  // namespace kiln::executor
