// Blobs put over HTTP within real mutual TLS: who may, what is held against the digest, what is left of a
// body that ends early.
#include <gtest/gtest.h>
#include <sys/un.h>

#include <filesystem>
#include <thread>

#include "coordinator/access/relayed_caller.h"
#include "coordinator/web/http_api.h"
#include "coordinator/web/http_gate.h"
#include "storage/blob/upload.h"
#include "storage/remote/wire_limits.h"
#include "tests/api/gateway/http.h"
#include "tests/api/gateway/raw_socket.h"
#include "tests/coordinator/server/access_fixture.h"

namespace kiln::server::testing {
namespace {

using testing_support::HttpReply;
using testing_support::HttpTls;

class HttpUpload : public AccessFixture {
 protected:
  HttpUpload() {
    relay_ = serveInProcess(relayed_.overHttp(), calls_);
    open({});
  }
  void open(const HttpApiLimits& limits) {
    gateway::GatewayBackend backend{
        .artifacts = std::make_shared<PublishedBlobs>(pool_),
        .blobs = std::shared_ptr<storage::BlobStore>(blobs_.get(), [](auto*) {}),
        .metrics = registry_,
        .health = [] { return Status(); },
        .api = HttpApi::create(relay_->InProcessChannel({}), gate_, clock_, "{}", limits).value()};
    private_ = gateway::Gateway::start({.socket = directory_ / "http.sock"}, backend).value();
    backend.gate = std::make_shared<HttpGate>(gate_, false);
    secure_ = gateway::Gateway::start({.tls = liveTls_->https()}, backend).value();
  }
  ~HttpUpload() override {
    relay_->Shutdown(std::chrono::system_clock::now());
    for (auto* side : {secure_.get(), private_.get()}) side->stop();
  }
  static std::string pathOf(const std::string& instance, const Digest& digest) {
    return "/api/v1/instances/" + instance + "/blobs/" + digest.text();
  }
  HttpReply ask(const std::string& path, const std::string& caller, const std::string& body,
                const std::vector<std::string>& headers = {}, const char* verb = "PUT") {
    const HttpTls tls{tls_ / "ca.pem", caller.empty() ? "" : tls_ / (caller + ".pem"),
                      caller.empty() ? "" : tls_ / (caller + ".key")};
    return testing_support::httpGet("https://localhost:" + std::to_string(secure_->port()) + path, headers,
                                    verb, tls, &body);
  }
  HttpReply put(const std::string& caller, const std::string& body, const std::string& instance = kGranted) {
    return ask(pathOf(instance, digestOf(body)), caller, body);
  }
  bool has(const std::string& instance, const std::string& body) {
    return storage::hasBlob(*blobs_, instance, digestOf(body)).value();
  }
  // Files of writes that have not ended.
  std::size_t unfinished() {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / "store/tmp"))
      files += entry.is_regular_file() ? 1 : 0;
    return files;
  }
  // A connection over which so much of the body has been sent.
  int begun(const std::string& body, std::size_t bytes) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (directory_ / "http.sock").copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string part =
        "PUT " + pathOf(kGranted, digestOf(body)) +
        " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
        body.substr(0, bytes);
    for (std::string_view left = part; !left.empty();) {
      const ssize_t sent = ::send(fd, left.data(), left.size(), MSG_NOSIGNAL);
      EXPECT_GT(sent, 0);
      if (sent <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    return fd;
  }
  static Json bodyOf(const HttpReply& reply) { return parseJson(reply.body).value_or(Json()); }

  GuardedServices relayed_{{gate_, calls_, instances_, access::relayedCredentials}, services_};
  std::unique_ptr<grpc::Server> relay_;
  std::unique_ptr<gateway::Gateway> private_, secure_;
};

TEST_F(HttpUpload, ABlobIsThereOnceItIsAnswered) {
  const std::string large(3'000'000, 'x');  // some messages of the RPC, and curl waits for leave to send it
  for (const std::string& body : {std::string("a model"), large, std::string()}) {
    const HttpReply reply = put("submitter", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(bodyOf(reply)["hash"], digestOf(body).hex());
    if (!body.empty()) EXPECT_EQ(bodyOf(reply)["sizeBytes"], std::to_string(body.size()));
    EXPECT_TRUE(has(kGranted, body));
    if (!body.empty()) EXPECT_FALSE(has(kOther, body));
    EXPECT_EQ(put("submitter", body).status, 200) << "again";
  }
  EXPECT_EQ(unfinished(), 0u);
}

TEST_F(HttpUpload, TheSameCallersAsOverGrpc) {
  int refusals = 0, n = 0;
  for (const std::string caller :
       {"submitter", "auditor", "runtime", "worker", "toolchain-admin", "admin", "nobody", "root"})
    for (const std::string instance : {kGranted, kOther}) {
      const std::string body = "blob " + std::to_string(++n);
      const HttpReply reply = put(caller, body, instance);
      const grpc::Status rpc = [&] {
        google::bytestream::WriteRequest request;
        request.set_resource_name(storage::writeName(instance, digestOf(body)));
        request.set_data(body);
        request.set_finish_write(true);
        return call(as(caller), "google.bytestream.ByteStream/Write", request.SerializeAsString());
      }();
      EXPECT_EQ(reply.status, rpc.ok() ? 200 : 403) << caller << " in " << instance << ": " << reply.body;
      EXPECT_EQ(has(instance, body), rpc.ok());
      refusals += reply.status == 403;
    }
  EXPECT_GT(refusals, 4);
  EXPECT_LT(refusals, 14);
  EXPECT_EQ(put("", "blob").status, 401);
  EXPECT_EQ(ask(pathOf(kGranted, digestOf("blob")), "nobody", "blob", {"kiln-local-bin: 1"}).status, 403);
  EXPECT_FALSE(has(kGranted, "blob"));
}

TEST_F(HttpUpload, WhatIsAnotherBlobLeavesNothing) {
  for (const std::string& body : {std::string("other bytes"), std::string(3'000'000, 'y')}) {
    const HttpReply reply = ask(pathOf(kGranted, digestOf("wanted")), "submitter", body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_NE(bodyOf(reply)["message"].get<std::string>().find(digestOf(body).hex()), std::string::npos)
        << reply.body;
    EXPECT_FALSE(has(kGranted, body));
  }
  EXPECT_FALSE(has(kGranted, "wanted"));
  EXPECT_EQ(unfinished(), 0u);
}

TEST_F(HttpUpload, ABodyThatIsCutLeavesNothing) {
  const std::string body(3'000'000, 'z');  // more than what is kept of an upload that goes on elsewhere
  const int fd = begun(body, body.size() - 1);
  const auto wait = [&](auto holds) {
    for (int i = 0; i < 3000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return holds();
  };
  EXPECT_TRUE(wait([&] { return unfinished() == 1; })) << "it is under way";
  ::close(fd);
  EXPECT_TRUE(wait([&] { return unfinished() == 0; })) << "nobody can go on with it";
  EXPECT_FALSE(has(kGranted, body));
  EXPECT_EQ(put("submitter", body).status, 200);
}

// Slow enough, it would hold its place among the uploads for days.
TEST_F(HttpUpload, WhatIsThereAlreadyIsNotReadForLongerThanAnUploadMayTake) {
  const std::string body(3'000'000, 'z');
  ASSERT_EQ(put("submitter", body).status, 200);
  for (auto* side : {secure_.get(), private_.get()}) side->stop();
  open({.upload = std::chrono::seconds(2)});
  const int fd = begun(body, 100'000);
  std::string answer(1 << 12, '\0');
  ssize_t got = -1;
  const std::string little(1000, 'z');
  for (int sent = 0; sent < 2'000 && got <= 0; ++sent) {  // all of it would take two minutes
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    ::send(fd, little.data(), little.size(), MSG_NOSIGNAL);
    got = ::recv(fd, answer.data(), answer.size(), MSG_DONTWAIT);
  }
  ::close(fd);
  ASSERT_GT(got, 0) << "it reads on";
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 200");
}

TEST_F(HttpUpload, WhatIsNoUploadIsRefusedByName) {
  const std::string path = pathOf(kGranted, digestOf("x"));
  const auto refused = [&](const HttpReply& reply, long status, const char* why) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_NE(reply.body.find(why), std::string::npos) << reply.body;
  };
  refused(ask(path, "submitter", "x", {"Transfer-Encoding: chunked"}), 411, "Content-Length");
  refused(ask(path, "submitter", "x", {"Content-Length: 1099511627777"}), 413, "too large");
  refused(ask(path + "?size=1", "submitter", "x"), 400, "parameters");
  refused(ask("/api/v1/instances/default/blobs/md5:x", "submitter", "x"), 400, "sha256:");
  refused(ask(path, "submitter", "x", {"Origin: https://evil.example"}), 403, "origin");
  refused(ask(path, "submitter", "", {}, "GET"), 405, "PUT");
  refused(ask(path, "submitter", "x", {}, "POST"), 405, "PUT");
  // An instance's name that would end the resource name with another digest.
  const std::string inner =
      "default%2Fuploads%2F2148e1f1-aacc-41eb-a31c-22b6da7c7ac1%2Fblobs%2F" + digestOf("x").hex() + "%2F1";
  refused(ask(pathOf(inner, digestOf("y")), "submitter", "x"), 400, "instance");
  EXPECT_FALSE(has(kGranted, "x"));
  EXPECT_EQ(gateway::GatewayOptions{}.maxUploadBytes, storage::kMaxBlobBytes);
}

TEST_F(HttpUpload, AnUploadCountsInItsInstancesQuota) {
  farm_.leasing.quotas->replace(
      quota::QuotaRules::parse(
          R"({"apiVersion": "kiln/v1", "kind": "Quotas", "default": {"uploadedBytesPerHour": 100}})")
          .value());
  EXPECT_EQ(put("submitter", std::string(60, 'x')).status, 200);
  const HttpReply refused = put("submitter", std::string(60, 'y'));
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_FALSE(has(kGranted, std::string(60, 'y')));
}

}  // namespace
}  // namespace kiln::server::testing
