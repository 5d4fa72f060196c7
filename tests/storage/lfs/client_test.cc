#include "storage/lfs/client.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/git_fixture.h"

namespace kiln::lfs {
namespace {

using testing_support::GitFixture;
using testing_support::GitHttpServer;

class Client : public testing::Test {
 protected:
  Client() : object_(git_.addLarge("m.onnx", "model bytes")) {}
  std::string repositories() { return std::filesystem::path(git_.directory()).parent_path(); }
  source::GitFetchOptions options(const GitHttpServer& server) {
    source::GitFetchOptions out;
    out.allowedHosts = {server.host()};
    out.allowHttp = true;
    return out;
  }
  Status fetch(const GitHttpServer& server, const source::GitFetchOptions& options,
               const std::string& name = "") {
    std::filesystem::remove(out_ / "m.onnx");
    const std::string prefix = name.empty() ? "" : "/hostile/" + name;
    KILN_ASSIGN(LfsClient client,
                LfsClient::make("http://" + server.host() + prefix + "/work/.git", options));
    return client.fetch(std::vector<LargeFile>{{"m.onnx", object_, out_ / "m.onnx"}});
  }

  GitFixture git_;
  testing_support::TempDirectory out_;
  const Digest object_;
};

TEST_F(Client, FetchesObjectsMoreThanOneBatchHolds) {
  std::vector<LargeFile> files;
  for (int i = 0; i < 130; ++i) {
    const std::string name = "w" + std::to_string(i);
    files.push_back({name, git_.addLarge(name, name), out_ / name});
  }
  GitHttpServer server(repositories());
  LfsClient client = LfsClient::make("http://" + server.host() + "/work/.git", options(server)).value();
  const Status done = client.fetch(files);
  ASSERT_TRUE(done) << done.error().message;
  for (const LargeFile& file : files) EXPECT_EQ(digestOfFile(file.output).value(), file.object);
}

TEST_F(Client, WhatTheServerDoesWrongIsRefusedByName) {
  GitHttpServer server(repositories());
  ASSERT_TRUE(fetch(server, options(server), "right"));
  const std::pair<const char*, Code> cases[] = {{"other", Code::kDataLoss},
                                                {"short", Code::kDataLoss},
                                                {"long", Code::kDataLoss},
                                                {"cut", Code::kUnavailable},
                                                {"size", Code::kDataLoss},
                                                {"gone", Code::kNotFound},
                                                {"absent", Code::kNotFound},
                                                {"none", Code::kNotFound},
                                                {"forbidden", Code::kPermissionDenied},
                                                {"closed", Code::kPermissionDenied},
                                                {"busy", Code::kUnavailable},
                                                {"later", Code::kUnavailable},
                                                {"page", Code::kDataLoss},
                                                {"deep", Code::kDataLoss},
                                                {"huge", Code::kDataLoss},
                                                {"empty", Code::kDataLoss},
                                                {"twice", Code::kDataLoss},
                                                {"unsaid", Code::kDataLoss},
                                                {"tus", Code::kUnimplemented},
                                                {"sha512", Code::kUnimplemented},
                                                {"redirect", Code::kUnimplemented},
                                                {"moved", Code::kUnimplemented},
                                                {"other-question", Code::kUnimplemented},
                                                {"nowhere", Code::kUnimplemented},
                                                {"to-user", Code::kDataLoss},
                                                {"to-file", Code::kDataLoss},
                                                {"internal", Code::kPermissionDenied},
                                                {"file", Code::kDataLoss},
                                                {"user", Code::kDataLoss},
                                                {"break", Code::kDataLoss},
                                                {"host", Code::kDataLoss},
                                                {"headers", Code::kDataLoss}};
  for (const auto& [name, code] : cases) {
    const Status done = fetch(server, options(server), name);
    ASSERT_FALSE(done) << name;
    const std::string& message = done.error().message;
    EXPECT_EQ(done.error().code, code) << name << ": " << message;
    EXPECT_NE(message.find("m.onnx"), std::string::npos) << name << ": " << message;
    EXPECT_EQ(message.find("s3cret"), std::string::npos) << name << ": " << message;
    EXPECT_EQ(message.find('\x1b'), std::string::npos) << name;
  }
}

TEST_F(Client, HostsThatTheServerSendsToAreOnTheAllowListToo) {
  GitHttpServer server(repositories());
  for (const char* name : {"elsewhere", "address"}) {
    const Status done = fetch(server, options(server), name);
    ASSERT_FALSE(done) << name;
    EXPECT_EQ(done.error().code, Code::kPermissionDenied) << done.error().message;
    EXPECT_NE(done.error().message.find("allow-list"), std::string::npos) << done.error().message;
  }
  source::GitFetchOptions both = options(server);
  both.allowedHosts.push_back("localhost" + server.host().substr(server.host().find(':')));
  EXPECT_TRUE(fetch(server, both, "elsewhere"));
  source::GitFetchOptions any = options(server);
  any.allowedHosts.emplace_back("*");  // an internal address is reached only by name
  EXPECT_EQ(fetch(server, any, "address").error().code, Code::kPermissionDenied);
  any.allowedHosts = {"*"};
  EXPECT_EQ(fetch(server, any).error().code, Code::kPermissionDenied);
  source::GitFetchOptions onlyTls = options(server);
  onlyTls.allowHttp = false;
  EXPECT_EQ(fetch(server, onlyTls).error().code, Code::kPermissionDenied);
}

TEST_F(Client, RedirectsAreFollowedAndNothingSecretGoesAlong) {
  GitHttpServer server(repositories(), "s3cret");
  source::GitFetchOptions with = options(server);
  with.credentials.token = "s3cret";
  for (const char* name : {"on", "shifted"}) {
    const Status done = fetch(server, with, name);
    EXPECT_TRUE(done) << name << ": " << done.error().message;
  }
  const Status denied = fetch(server, with, "aside");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Code::kPermissionDenied) << denied.error().message;
  EXPECT_NE(denied.error().message.find("localhost"), std::string::npos) << denied.error().message;
  with.allowedHosts.push_back("localhost" + server.host().substr(server.host().find(':')));
  const Status aside = fetch(server, with, "aside");
  EXPECT_TRUE(aside) << aside.error().message;
}

TEST_F(Client, TheServerMayBeTheOneThatTheCommitNames) {
  GitHttpServer server(repositories(), "s3cret");
  source::GitFetchOptions with = options(server);
  with.credentials.token = "s3cret";
  const std::string port = server.host().substr(server.host().find(':'));
  const auto fetched = [&](const std::string& place) -> Status {
    std::filesystem::remove(out_ / "m.onnx");
    KILN_ASSIGN(LfsClient client, LfsClient::make("http://" + server.host() + "/nothing/here", with,
                                                  "[lfs]\n\turl = " + place + "\n"));
    return client.fetch(std::vector<LargeFile>{{"m.onnx", object_, out_ / "m.onnx"}});
  };
  const std::string own = "http://" + server.host() + "/work/.git/info/lfs";
  const Status named = fetched(own + "/");
  EXPECT_TRUE(named) << named.error().message;
  // Another host must be allowed, and gets no token.
  const std::string other = "http://localhost" + port + "/work/.git/info/lfs";
  EXPECT_EQ(fetched(other).error().code, Code::kPermissionDenied);
  with.allowedHosts.push_back("localhost" + port);
  EXPECT_EQ(fetched(other).error().code, Code::kUnauthenticated);
  EXPECT_EQ(fetched("ssh://git@" + server.host() + "/work/.git").error().code, Code::kUnimplemented);
}

TEST_F(Client, CredentialsOpenPrivateServers) {
  GitHttpServer server(repositories(), "s3cret");
  EXPECT_EQ(fetch(server, options(server)).error().code, Code::kUnauthenticated);
  source::GitFetchOptions with = options(server);
  with.credentials.token = "wrong-token";
  const Status wrong = fetch(server, with);
  EXPECT_EQ(wrong.error().code, Code::kUnauthenticated);
  EXPECT_EQ(wrong.error().message.find("wrong-token"), std::string::npos) << wrong.error().message;
  with.credentials.token = "s3cret";
  const Status right = fetch(server, with);
  EXPECT_TRUE(right) << right.error().message;
  // Another host gets none of them, though it is allowed.
  with.allowedHosts.push_back("localhost" + server.host().substr(server.host().find(':')));
  EXPECT_EQ(fetch(server, with, "elsewhere").error().code, Code::kUnauthenticated);
}

TEST_F(Client, LimitsHold) {
  GitHttpServer server(repositories());
  source::GitFetchOptions small = options(server);
  small.maxTransferBytes = object_.size - 1;
  EXPECT_EQ(fetch(server, small).error().code, Code::kResourceExhausted);
  source::GitFetchOptions hasty = options(server);
  hasty.timeLimit = std::chrono::seconds(-1);
  EXPECT_EQ(fetch(server, hasty).error().code, Code::kDeadlineExceeded);
}

TEST_F(Client, AServerThatIsAwayIsUnavailable) {
  source::GitFetchOptions open;
  open.allowedHosts = {"127.0.0.1:1"};
  open.allowHttp = true;
  LfsClient client = LfsClient::make("http://127.0.0.1:1/r", open).value();
  const Status done = client.fetch(std::vector<LargeFile>{{"m", object_, out_ / "m"}});
  EXPECT_EQ(done.error().code, Code::kUnavailable) << done.error().message;
}

// A server that others wrote, which holds "model bytes": tests/interop/lfs_check.py starts one.
TEST(ForeignServer, GivesWhatItHas) {
  const char* repository = std::getenv("KILN_LFS_REPOSITORY");
  if (!repository) GTEST_SKIP() << "KILN_LFS_REPOSITORY names no repository";
  source::GitFetchOptions options;
  const source::GitUrl url = source::parseGitUrl(repository).value();
  options.allowedHosts = {url.host + ":" + url.port};
  options.allowHttp = true;
  testing_support::TempDirectory out;
  LfsClient client = LfsClient::make(repository, options).value();
  const LargeFile model{"m.onnx", digestOf("model bytes"), out / "m.onnx"};
  const Status done = client.fetch({&model, 1});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(digestOfFile(model.output).value(), model.object);
  const LargeFile absent{"a.onnx", digestOf("other bytes"), out / "a.onnx"};
  EXPECT_EQ(client.fetch({&absent, 1}).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace kiln::lfs
