#include "storage/source/git_fetch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "storage/source/secrets.h"
#include "tests/support/git_fixture.h"

namespace kiln::source {
namespace {

using testing_support::GitFixture;
using testing_support::GitHttpServer;

class Fetch : public testing::Test {
 protected:
  Fetch() {
    git_.add("models/m.onnx", "model bytes");
    first_ = git_.commit();
    git_.add("models/m.onnx", "newer bytes");
    second_ = git_.commit();
    git_.git("tag -a v1 -m x");
  }
  GitReference reference(const GitHttpServer& server, const std::string& commit,
                         const std::string& prefix = "") {
    return {"http://" + server.host() + prefix + "/work/.git", commit, "models/m.onnx"};
  }
  GitFetchOptions options(const GitHttpServer& server) {
    GitFetchOptions out;
    out.allowedHosts = {server.host()};
    out.allowHttp = true;
    out.temporaryDirectory = temporary_.path();
    return out;
  }
  std::string repositories() { return std::filesystem::path(git_.directory()).parent_path(); }

  GitFixture git_;
  testing_support::TempDirectory temporary_;
  std::string first_, second_;
};

TEST_F(Fetch, FetchesACommitAndLeavesNothing) {
  GitHttpServer server(repositories());
  for (const std::string& commit : {first_, second_}) {
    auto tree = fetchCommit(reference(server, commit), options(server));
    ASSERT_TRUE(tree) << tree.error().message;
    EXPECT_EQ(tree->read("models/m.onnx", 100).value(), commit == first_ ? "model bytes" : "newer bytes");
    EXPECT_FALSE(std::filesystem::is_empty(temporary_.path()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
}

TEST_F(Fetch, NamesAreRefusedWithTheCommitTheyMean) {
  GitHttpServer server(repositories());
  for (const char* name : {"main", "v1", "HEAD"}) {
    auto refused = fetchCommit(reference(server, name), options(server));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("it is commit " + second_), std::string::npos)
        << refused.error().message;
  }
  auto unknown = fetchCommit(reference(server, first_.substr(0, 8)), options(server));
  EXPECT_EQ(unknown.error().code, Code::kInvalidArgument);
  EXPECT_NE(unknown.error().message.find("40 lowercase hex digits"), std::string::npos)
      << unknown.error().message;
}

TEST_F(Fetch, AbsentCommitsAndRepositoriesAreNamed) {
  GitHttpServer server(repositories());
  auto commit = fetchCommit(reference(server, std::string(40, '1')), options(server));
  EXPECT_EQ(commit.error().code, Code::kNotFound) << commit.error().message;
  EXPECT_NE(commit.error().message.find(std::string(40, '1')), std::string::npos) << commit.error().message;
  GitReference absent{"http://" + server.host() + "/absent.git", first_, "m"};
  auto repository = fetchCommit(absent, options(server));
  ASSERT_FALSE(repository);
  EXPECT_NE(repository.error().message.find("/absent.git"), std::string::npos) << repository.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
}

TEST_F(Fetch, Case26HostsThatAreNotNamedAreRefused) {
  GitHttpServer server(repositories());
  GitFetchOptions closed = options(server);
  closed.allowedHosts = {"git.example.org"};
  EXPECT_EQ(fetchCommit(reference(server, first_), closed).error().code, Code::kPermissionDenied);
  closed.allowedHosts = {"*"};  // a loopback address is reached only by name
  EXPECT_EQ(fetchCommit(reference(server, first_), closed).error().code, Code::kPermissionDenied);
  GitFetchOptions onlyTls = options(server);
  onlyTls.allowHttp = false;
  EXPECT_EQ(fetchCommit(reference(server, first_), onlyTls).error().code, Code::kPermissionDenied);
  EXPECT_EQ(fetchCommit({"file://" + git_.directory(), first_, "m"}, options(server)).error().code,
            Code::kInvalidArgument);
}

TEST_F(Fetch, Case26RedirectsToAnotherHostAreNotFollowed) {
  GitHttpServer server(repositories());
  auto refused = fetchCommit(reference(server, first_, "/redirect"), options(server));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("redirect"), std::string::npos) << refused.error().message;
}

// Another try would get the same answer; where it may get a better one, the server is unavailable.
TEST_F(Fetch, WhatTheServerDecidesIsNoTroubleOfTheNetwork) {
  GitHttpServer server(repositories());
  const std::pair<const char*, Code> answers[] = {
      {"page", Code::kDataLoss},      {"error", Code::kUnimplemented}, {"noise", Code::kDataLoss},
      {"file", Code::kUnimplemented}, {"gone", Code::kNotFound},       {"teapot", Code::kDataLoss},
      {"busy", Code::kUnavailable},   {"version", Code::kDataLoss},    {"short", Code::kDataLoss}};
  for (const auto& [name, code] : answers) {
    const GitReference asked{"http://" + server.host() + "/answer/" + name + "/r.git", std::string(40, '1'),
                             "m"};
    const auto refused = fetchCommit(asked, options(server));
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, code) << name << ": " << refused.error().message;
  }
  EXPECT_EQ(fetchCommit(reference(server, first_, "/redirect"), options(server)).error().code,
            Code::kUnimplemented);
}

TEST_F(Fetch, CredentialsOpenPrivateRepositories) {
  GitHttpServer server(repositories(), "s3cret");
  auto without = fetchCommit(reference(server, first_), options(server));
  EXPECT_EQ(without.error().code, Code::kUnauthenticated) << without.error().message;
  GitFetchOptions with = options(server);
  with.credentials.token = "wrong-token";
  auto wrong = fetchCommit(reference(server, first_), with);
  EXPECT_EQ(wrong.error().code, Code::kUnauthenticated);
  EXPECT_EQ(wrong.error().message.find("wrong-token"), std::string::npos) << wrong.error().message;
  with.credentials.token = "s3cret";
  auto tree = fetchCommit(reference(server, first_), with);
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(tree->read("models/m.onnx", 100).value(), "model bytes");
}

TEST_F(Fetch, Case26LargeRepositoriesAndSlowServersAreCutOff) {
  std::mt19937 random(1);
  std::string noise(1 << 20, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  git_.add("noise", noise);
  std::string commit = git_.commit();
  GitHttpServer server(repositories());
  GitFetchOptions small = options(server);
  small.maxTransferBytes = 100'000;
  EXPECT_EQ(fetchCommit(reference(server, commit), small).error().code, Code::kResourceExhausted);
  GitFetchOptions hasty = options(server);
  hasty.timeLimit = std::chrono::seconds(-1);
  EXPECT_EQ(fetchCommit(reference(server, commit), hasty).error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
}

TEST_F(Fetch, AServerThatIsAwayIsUnavailable) {
  GitFetchOptions open;
  open.allowedHosts = {"127.0.0.1:1"};
  open.allowHttp = true;
  EXPECT_EQ(fetchCommit({"http://127.0.0.1:1/r", first_, "m"}, open).error().code, Code::kUnavailable);
}

TEST(GitCredentials, AreReadFromAFileOfTheirOwnersOnly) {
  testing_support::TempDirectory directory;
  std::string path = directory / "credentials";
  std::ofstream(path)
      << "# for git.example.org\n\ntoken=abc=\nssh-host-key=SHA256:x\nssh-host-key=SHA256:y\n";
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  EXPECT_EQ(readGitCredentials(path).error().code, Code::kPermissionDenied);
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  GitCredentials read = readGitCredentials(path).value();
  EXPECT_EQ(read.token, "abc=");
  EXPECT_EQ(read.sshHostKeys.size(), 2u);
  std::ofstream(path) << "pasword=hunter2\n";
  auto bad = readGitCredentials(path);
  EXPECT_EQ(bad.error().code, Code::kInvalidArgument);
  EXPECT_NE(bad.error().message.find(":1"), std::string::npos);
  EXPECT_EQ(bad.error().message.find("hunter2"), std::string::npos);
  EXPECT_EQ(readGitCredentials(directory / "absent").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace kiln::source
