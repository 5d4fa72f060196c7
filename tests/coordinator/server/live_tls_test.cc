// Certificates that change while the coordinator runs, as gRPC and HTTP show them.
#include "coordinator/server/live_tls.h"

#include <filesystem>

#include "coordinator/web/http_gate.h"
#include "tests/api/gateway/http.h"
#include "tests/coordinator/server/access_fixture.h"

namespace kiln::server::testing {
namespace {

class LiveTlsTest : public AccessFixture {
 protected:
  // Whether a new connection is accepted that trusts this authority alone and shows NAME's certificate.
  bool connects(const std::string& authority, const TlsFiles& files, const std::string& name) {
    storage::ClientCredentials shown = files.certificateOf(name);
    shown.ca = authority;
    v1::ListJobsRequest request;
    request.set_instance(kGranted);
    const auto status = call(TlsFiles::channel(endpoint(), shown), "kiln.v1.JobService/ListJobs",
                             request.SerializeAsString());
    return status.error_code() != grpc::StatusCode::UNAVAILABLE;
  }
  // gRPC looks once a second.
  bool soon(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds() && std::chrono::steady_clock::now() < end) {
    }
    return holds();
  }
  void copy(const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  }
};

TEST_F(LiveTlsTest, AnotherAuthorityTakesOver) {
  TlsFiles next;
  next.client("admin");
  EXPECT_TRUE(connects(tls_ / "ca.pem", tls_, "admin"));
  EXPECT_FALSE(connects(next / "ca.pem", next, "admin"));
  for (const char* file : {"server.pem", "server.key", "ca.pem"})
    copy(next / file, tls_ / (std::string("next-") + file));
  copy(next / "server.pem", tls_ / "server.pem");
  copy(next / "server.key", tls_ / "server.key");
  copy(tls_ / "ca.pem", tls_ / "old-ca.pem");
  copy(next / "ca.pem", tls_ / "ca.pem");
  EXPECT_FALSE(connects(next / "ca.pem", next, "admin")) << "nothing changes before it is told to look";
  ASSERT_TRUE(liveTls_->reload());
  EXPECT_TRUE(soon([&] { return connects(next / "ca.pem", next, "admin"); }));
  EXPECT_FALSE(connects(tls_ / "old-ca.pem", tls_, "admin"));
}

TEST_F(LiveTlsTest, TheWorkerAuthorityStaysTheOneOfTheGate) {
  const auto another = signing::Authority::create(clock_.now()).value();
  TlsFiles next;
  next.client("nobody");
  next.worker("admin", "people", another, clock_.now());  // to this gate it would be the person of that name
  copy(tls_ / "ca.pem", tls_ / "old-ca.pem");
  copy(next / "ca.pem", tls_ / "ca.pem");
  tls_.write("worker-ca.pem", another.certificate().pem());
  ASSERT_TRUE(liveTls_->reload());
  ASSERT_TRUE(soon([&] { return connects(tls_ / "old-ca.pem", next, "nobody"); })) << "not read again";
  EXPECT_FALSE(connects(tls_ / "old-ca.pem", next, "admin"));
  EXPECT_TRUE(connects(tls_ / "old-ca.pem", tls_, "worker"));
}

TEST_F(LiveTlsTest, WhatCannotBeUsedChangesNothing) {
  const auto web =
      gateway::Gateway::start({.tls = liveTls_->https()}, {.artifacts = nullptr,
                                                           .blobs = nullptr,
                                                           .metrics = registry_,
                                                           .health = [] { return Status(); },
                                                           .gate = std::make_shared<HttpGate>(gate_, false)});
  ASSERT_TRUE(web);
  const auto answers = [&] {
    const testing_support::HttpTls tls{tls_ / "old-ca.pem", tls_ / "admin.pem", tls_ / "admin.key"};
    const std::string url = "https://localhost:" + std::to_string((*web)->port()) + "/v2/";
    return connects(tls_ / "old-ca.pem", tls_, "admin") &&
           testing_support::httpGet(url, {}, "GET", tls).status == 200;
  };
  for (const char* file : {"server.pem", "server.key", "ca.pem"})
    copy(tls_ / file, tls_ / ("old-" + std::string(file)));
  EXPECT_TRUE(answers());
  TlsFiles next;
  copy(next / "server.pem", tls_ / "server.pem");
  Status read = liveTls_->reload();
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("must be that of the certificate"), std::string::npos)
      << read.error().message;
  EXPECT_TRUE(answers());
  copy(tls_ / "old-server.pem", tls_ / "server.pem");
  tls_.write("ca.pem", "not PEM");
  EXPECT_FALSE(liveTls_->reload());
  EXPECT_TRUE(answers());
  copy(tls_ / "old-ca.pem", tls_ / "ca.pem");
  std::filesystem::permissions(tls_ / "server.key", std::filesystem::perms(0644));
  read = liveTls_->reload();
  ASSERT_FALSE(read) << "others could read the key";
  EXPECT_NE(read.error().message.find("--tls-key"), std::string::npos);
  EXPECT_TRUE(answers());
}

}  // namespace
}  // namespace kiln::server::testing
