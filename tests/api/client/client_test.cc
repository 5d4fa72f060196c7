#include "api/client/client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "api/client/audit_client.h"
#include "api/client/rpc_error.h"
#include "google/rpc/status.pb.h"
#include "tests/api/support/fake_farm.h"

namespace kiln::client {
namespace {

using testing_support::jobIn;

struct ClientTest : testing::Test {
  testing_support::TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  testing_support::FakeFarm farm{*store};
  std::unique_ptr<Client> client = connect(farm.endpoint());

  static std::unique_ptr<Client> connect(const std::string& endpoint,
                                         std::chrono::milliseconds retryTimeout = {}) {
    ClientOptions options;
    options.endpoint = endpoint;
    options.deadline = std::chrono::seconds(5);
    options.retryTimeout = retryTimeout;
    return std::move(*Client::open(std::move(options)));
  }
};

TEST_F(ClientTest, RefusesEndpointsItCannotUse) {
  for (const char* endpoint : {"", "unix:", "nonsense", "http://host/x"}) {
    ClientOptions options;
    options.endpoint = endpoint;
    const auto client = Client::open(options);
    ASSERT_FALSE(client) << endpoint;
    EXPECT_EQ(client.error().code, Code::kInvalidArgument);
  }
  EXPECT_NE(Client::open({}).error().message.find("kiln.env"), std::string::npos);
}

// A proxy answers in its coordinator's place: in HTTP's words, as gRPC with words of its own, or without any.
TEST_F(ClientTest, SaysWhereAProxyAnsweredAndWhatToDo) {
  const std::string proxy = "farm.example.org:7445";
  ASSERT_TRUE(client->ping()) << "its channel is ready";
  const auto told = [&](grpc::StatusCode code, const std::string& message) {
    return rpcError({code, message}, *client->endpoints().all()[0].channel, proxy);
  };
  const std::string http = "Received http2 header with status: ";
  for (const std::string& message :
       {http + "502", http + "503", std::string("no healthy upstream"), std::string()}) {
    const Error error = told(grpc::StatusCode::UNAVAILABLE, message);
    EXPECT_EQ(error.code, Code::kUnavailable);
    EXPECT_TRUE(error.message.starts_with(proxy + ": ")) << error.message;
    EXPECT_NE(error.message.find("--wait"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find("http2 header"), std::string::npos) << error.message;
    EXPECT_EQ(answeredFrom(proxy, error).message, error.message);
  }
  EXPECT_NE(told(grpc::StatusCode::UNAVAILABLE, http + "502").message.find("HTTP status 502"),
            std::string::npos);
  for (const auto& [code, status] : {std::pair{grpc::StatusCode::UNIMPLEMENTED, "404"},
                                     {grpc::StatusCode::PERMISSION_DENIED, "403"},
                                     {grpc::StatusCode::UNKNOWN, "500"}}) {
    const Error error = told(code, http + status);
    EXPECT_EQ(static_cast<int>(error.code), static_cast<int>(code));
    EXPECT_TRUE(error.message.starts_with(proxy)) << error.message;
    EXPECT_NE(error.message.find(std::string("HTTP status ") + status), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("--endpoint"), std::string::npos) << error.message;
  }
  const Error other = told(grpc::StatusCode::UNIMPLEMENTED, "");
  EXPECT_NE(other.message.find("no coordinator"), std::string::npos) << other.message;
  EXPECT_EQ(other.details, R"({"exitCode":2})") << "it is not the model that has to change";
  EXPECT_EQ(told(grpc::StatusCode::NOT_FOUND, "no such job").message, "no such job");
  EXPECT_EQ(rpcError({grpc::StatusCode::UNAVAILABLE, "only just started"},
                     *client->endpoints().all()[0].channel, farm.endpoint())
                .message,
            "only just started")
      << "no proxy stands before a socket";
}

TEST_F(ClientTest, NamesTheNextStepWhenNobodyListens) {
  const auto lonely = connect("unix:" + directory.path() + "/nobody.sock");
  for (const auto& status : {lonely->ping(), Status(tl::make_unexpected(lonely->job("x").error()))}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kUnavailable);
    EXPECT_NE(status.error().message.find("infra/up"), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find("nobody.sock"), std::string::npos);
  }
  const auto upload = storage::putBlob(lonely->blobs(), "default", asBytes("x"));
  ASSERT_FALSE(upload);
  EXPECT_NE(lonely->explain(upload.error()).message.find("infra/up"), std::string::npos);
}

// A socket that a killed coordinator has left, and none at all.
TEST_F(ClientTest, ThatNobodyListensIsToldAtOnce) {
  const std::string stale = directory / "stale.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, stale.c_str(), sizeof address.sun_path - 1);
  {
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  for (const std::string& path : {stale, directory / "nobody.sock", directory / "nowhere/at/all.sock"}) {
    const auto start = std::chrono::steady_clock::now();
    const auto lonely = connect("unix:" + path);
    for (const Error& error : {lonely->ping().error(), lonely->job("x").error(),
                               lonely->watch("x", [](const v1::Job&) { return Status(); }).error()}) {
      EXPECT_EQ(error.code, Code::kUnavailable) << path;
      EXPECT_NE(error.message.find(path), std::string::npos) << error.message;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << path;
  }
}

// Protobuf would refuse each in its own words, with a line on stderr.
TEST_F(ClientTest, WhatIsNotUtf8IsRefusedByTheOptionItCameFrom) {
  const std::string bad = "x\xff";
  const auto refused = [](const auto& result, const std::string& option) {
    ASSERT_FALSE(result) << option;
    EXPECT_EQ(result.error().code, Code::kInvalidArgument) << option;
    EXPECT_TRUE(result.error().message.starts_with(option + ": ")) << result.error().message;
    EXPECT_NE(result.error().message.find("is not UTF-8"), std::string::npos) << result.error().message;
  };
  ClientOptions options;
  options.endpoint = farm.endpoint();
  options.instance = bad;
  testing::internal::CaptureStderr();
  refused(Client::open(options), "--instance (KILN_INSTANCE)");
  refused(client->job(bad), "JOB");
  refused(client->watch(bad, [](const v1::Job&) { return Status(); }), "JOB");
  refused(client->cancel(bad), "JOB");
  refused(client->jobs(5, bad), "--before");
  refused(client->outputs("job-1", bad), "--worker");
  refused(client->logs("job-1", "w", bad), "--target");
  refused(client->artifact(bad), "ARTIFACT");
  refused(client->toolchain(bad), "the name");
  refused(client->addToolchain(bad, digestOf("tree"), {}, false), "--label");
  refused(client->addTombstone("sha256:" + std::string(64, '0'), bad), "--reason");
  v1::SubmitJobRequest submitted;
  submitted.set_toolchain(bad);
  refused(client->submit(submitted), "--toolchain");
  submitted.set_toolchain("kiln-test");
  submitted.add_targets("cpu:x86-64-v3");
  submitted.add_targets(bad);
  refused(client->submit(submitted), "--target");
  AuditClient audit(*client);
  v1::ListAffectedRequest affected;
  affected.set_source(bad);
  refused(audit.affected(affected), "--source");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(ClientTest, KeepsTheServersCodeMessageAndFacts) {
  farm.script.submit = [](const v1::SubmitJobRequest&, v1::Job*) {
    v1::JobError error;
    error.set_code(static_cast<int>(Code::kUnimplemented));
    error.set_message("no worker compiles for cpu:riscv64");
    error.set_exit_code(4);
    error.set_details_json(R"({"unsupported":[{"node":"n1"}]})");
    google::rpc::Status rich;
    rich.set_code(12);
    rich.add_details()->PackFrom(error);
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "refused", rich.SerializeAsString());
  };
  const auto job = client->submit({});
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, Code::kUnimplemented);
  EXPECT_EQ(job.error().message, "no worker compiles for cpu:riscv64");
  EXPECT_EQ(job.error().details, R"({"exitCode":4,"unsupported":[{"node":"n1"}]})");
  // An UNAVAILABLE that the server sent itself is not taken for a missing server.
  farm.script.submit = [](const v1::SubmitJobRequest&, v1::Job*) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the database does not answer");
  };
  EXPECT_EQ(client->submit({}).error().message, "the database does not answer");
}

TEST_F(ClientTest, SubmitNamesTheInstance) {
  farm.script.watch = {jobIn(v1::JOB_QUEUED, 1)};
  ASSERT_TRUE(client->submit({}));
  EXPECT_EQ(farm.script.submitted.at(0).instance(), "default");
}

TEST_F(ClientTest, WatchTellsEachChangeOnce) {
  farm.script.watch = {jobIn(v1::JOB_QUEUED, 1), jobIn(v1::JOB_RUNNING, 2), jobIn(v1::JOB_RUNNING, 2),
                       jobIn(v1::JOB_SUCCEEDED, 3)};
  std::vector<std::uint64_t> seen;
  const auto job = client->watch("job-1", [&](const v1::Job& now) -> Status {
    seen.push_back(now.revision());
    return {};
  });
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->state(), v1::JOB_SUCCEEDED);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(ClientTest, WatchSurvivesARestartOfTheServer) {
  farm.script.watch = {jobIn(v1::JOB_RUNNING, 1)};  // the stream ends before the job does
  std::thread restarting;
  const auto retrying = connect(farm.endpoint(), std::chrono::seconds(20));
  const auto job = retrying->watch("job-1", [&](const v1::Job& now) -> Status {
    if (now.revision() == 1) {
      restarting = std::thread([&] {
        farm.stop();
        farm.script.watch = {jobIn(v1::JOB_SUCCEEDED, 2)};
        farm.start();
      });
    }
    return {};
  });
  restarting.join();
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->state(), v1::JOB_SUCCEEDED);
}

// Of what was known, or of nothing: neither is an answer that begins the wait anew.
TEST_F(ClientTest, AFarmThatBreaksOffWithoutNewsIsNotWatchedWithoutEnd) {
  const auto retrying = connect(farm.endpoint(), std::chrono::milliseconds(300));
  for (const auto& said : {std::vector<v1::Job>{}, std::vector<v1::Job>{v1::Job()},
                           std::vector<v1::Job>{jobIn(v1::JOB_RUNNING, 1)}}) {
    farm.script.watch = said;
    std::size_t changes = 0;
    const auto job = retrying->watch("job-1", [&](const v1::Job&) -> Status {
      ++changes;
      return {};
    });
    ASSERT_FALSE(job);
    EXPECT_EQ(job.error().code, Code::kUnavailable);
    EXPECT_NE(job.error().message.find("ended the watch before the job"), std::string::npos)
        << job.error().message;
    EXPECT_EQ(changes, said.size());
  }
}

TEST_F(ClientTest, BlobsTravelOverTheSameChannel) {
  const std::string large(9'000'000, 'b');
  const auto digest = storage::putBlob(client->blobs(), "default", asBytes(large));
  ASSERT_TRUE(digest) << digest.error().message;
  EXPECT_EQ(*storage::getBlob(client->blobs(), "default", *digest, 10'000'000), large);
  EXPECT_TRUE(store->findMissing("default", {&*digest, 1})->empty());
}

}  // namespace
}  // namespace kiln::client
