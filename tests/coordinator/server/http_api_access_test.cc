// Every RPC x caller x instance over HTTP within real mutual TLS, and over gRPC: they may do the same.
#include <gtest/gtest.h>

#include "api/transcoding/message_json.h"
#include "api/transcoding/request_reader.h"
#include "api/transcoding/upload_path.h"
#include "coordinator/access/relayed_caller.h"
#include "coordinator/web/http_api.h"
#include "coordinator/web/http_gate.h"
#include "coordinator/web/openapi_document.h"
#include "coordinator/web/served_methods.h"
#include "tests/api/gateway/http.h"
#include "tests/coordinator/server/access_fixture.h"

namespace kiln::server::testing {
namespace {

using testing_support::HttpReply;
using testing_support::HttpTls;

class HttpApiAccessTest : public AccessFixture {
 protected:
  HttpApiAccessTest() {
    relay_ = serveInProcess(relayed_.overHttp(), calls_);
    open({});
  }
  ~HttpApiAccessTest() override {
    relay_->Shutdown(std::chrono::system_clock::now());
    for (auto* side : {secure_.get(), plain_.get(), private_.get()}) side->stop();
  }
  void open(const HttpApiLimits& limits) {
    gateway::GatewayBackend backend{
        .artifacts = std::make_shared<PublishedBlobs>(pool_),
        .blobs = std::shared_ptr<storage::BlobStore>(blobs_.get(), [](auto*) {}),
        .metrics = registry_,
        .health = [] { return Status(); },
        .api =
            HttpApi::create(relay_->InProcessChannel({}), gate_, clock_, openApiDocument(), limits).value()};
    plain_ = gateway::Gateway::start({}, backend).value();
    private_ = gateway::Gateway::start({.socket = directory_ / "http.sock"}, backend).value();
    backend.gate = std::make_shared<HttpGate>(gate_, false);
    secure_ = gateway::Gateway::start({.tls = liveTls_->https()}, backend).value();
  }
  std::string bearer(const std::string& subject = "repo:acme/model") {
    return "Authorization: Bearer " + testing_support::readGolden(token(subject));
  }
  // "" has nothing to show, "token" the token of a submitter, anybody else a certificate.
  HttpReply ask(const std::string& path, const std::string& caller, const char* verb = "GET",
                std::vector<std::string> headers = {}) {
    HttpTls tls{tls_ / "ca.pem", "", ""};
    if (caller == "token")
      headers.push_back(bearer());
    else if (!caller.empty())
      tls = {tls_ / "ca.pem", tls_ / (caller + ".pem"), tls_ / (caller + ".key")};
    return testing_support::httpGet("https://localhost:" + std::to_string(secure_->port()) + path, headers,
                                    verb, tls);
  }
  // A path with something in the place of each field.
  static std::string pathOf(const transcoding::Route& route, const std::string& instance) {
    std::string path = route.path.text();
    for (const std::string& field : route.path.fields()) {
      const bool isInstance = field == "instance" || field == "instance_name";
      path.replace(path.find("{" + field + "}"), field.size() + 2,
                   isInstance ? instance : "sha256:" + std::string(64, 'a'));
    }
    return path;
  }
  static Json bodyOf(const HttpReply& reply) { return parseJson(reply.body).value_or(Json()); }

  GuardedServices relayed_{{gate_, calls_, instances_, access::relayedCredentials}, services_};
  std::unique_ptr<grpc::Server> relay_;
  std::unique_ptr<gateway::Gateway> plain_, private_, secure_;
  const transcoding::RouteTable routes_ =
      transcoding::RouteTable::of(servedMethods(*google::protobuf::DescriptorPool::generated_pool())).value();
};

TEST_F(HttpApiAccessTest, EveryRpcCallerAndInstanceAsOverGrpc) {
  int allowed = 0, refusals = 0;
  for (const transcoding::Route& route : routes_.routes())
    for (const std::string caller :
         {"submitter", "auditor", "runtime", "worker", "toolchain-admin", "admin", "nobody", "root"})
      for (const std::string instance : {kGranted, kOther}) {
        const std::string path = pathOf(route, instance);
        const HttpReply http = ask(path, caller, route.verb == transcoding::Verb::kPost ? "POST" : "GET",
                                   {"Content-Type: application/json"});
        // The same request, as the message that HTTP makes of it.
        const auto match = routes_.find(verbName(route.verb), path);
        const auto message = transcoding::readRequest(*match, "", "").value();
        const grpc::Status rpc = call(as(caller), rpcName(*route.method), message->SerializeAsString());
        const unsigned wanted =
            rpc.ok() ? 200u
                     : transcoding::httpStatusOf(static_cast<Code>(static_cast<int>(rpc.error_code())));
        EXPECT_EQ(http.status, wanted) << path << " as " << caller << ": " << http.body;
        if (!rpc.ok()) EXPECT_EQ(bodyOf(http)["message"], rpc.error_message()) << path;
        EXPECT_EQ(http.status == 403 || http.status == 401, refused(rpc));
        (refused(rpc) ? refusals : allowed) += 1;
      }
  EXPECT_GT(allowed, 50);
  EXPECT_GT(refusals, 100);
}

TEST_F(HttpApiAccessTest, WhoShowsNothingGetsNothing) {
  for (const transcoding::Route& route : routes_.routes()) {
    const char* verb = route.verb == transcoding::Verb::kPost ? "POST" : "GET";
    const std::string path = pathOf(route, kGranted);
    const HttpReply within = ask(path, "", verb, {"Content-Type: application/json"});
    const HttpReply plain =
        testing_support::httpGet("http://127.0.0.1:" + std::to_string(plain_->port()) + path,
                                 {"Content-Type: application/json"}, verb);
    for (const HttpReply& reply : {within, plain}) {
      EXPECT_EQ(reply.status, 401) << path << reply.body;
      EXPECT_TRUE(reply.headers.contains("www-authenticate"));
      EXPECT_EQ(bodyOf(reply)["details"][0]["exitCode"], 8) << reply.body;
    }
  }
  // Nor what says of itself who it is, as calls within the process do.
  const HttpReply liar =
      ask("/api/v1/instances/default/jobs", "", "GET", {"kiln-local-bin: MQ==", "kiln-local-bin: 1"});
  EXPECT_EQ(liar.status, 401);
  grpc::ClientContext context;
  context.AddMetadata("kiln-local-bin", "1");
  v1::ListJobsResponse jobs;
  v1::ListJobsRequest request;
  request.set_instance(kGranted);
  EXPECT_EQ(v1::JobService::NewStub(as("nobody"))->ListJobs(&context, request, &jobs).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(HttpApiAccessTest, ATokenCountsOverEverySide) {
  EXPECT_EQ(ask("/api/v1/instances/default/jobs", "token").status, 200);
  EXPECT_EQ(ask("/api/v1/instances/other/jobs", "token").status, 403);
  EXPECT_EQ(ask("/api/v1/instances/default/affected?worker=x", "token").status, 403)
      << "that is for auditors";
  const std::string url =
      "http://127.0.0.1:" + std::to_string(plain_->port()) + "/api/v1/instances/default/jobs";
  EXPECT_EQ(testing_support::httpGet(url, {bearer()}).status, 200);
  EXPECT_EQ(testing_support::httpGet(url, {bearer("repo:evil/model")}).status, 403);
  EXPECT_EQ(testing_support::httpGet(url, {"Authorization: Bearer nonsense"}).status, 401);
  EXPECT_EQ(testing_support::httpGet(url, {bearer(), "Authorization: Bearer another"}).status, 401);
}

TEST_F(HttpApiAccessTest, APageOfAnotherOriginGetsNothing) {
  const std::string jobs = "/api/v1/instances/default/jobs";
  EXPECT_EQ(ask(jobs, "submitter", "GET", {"Origin: https://evil.example"}).status, 403);
  EXPECT_EQ(ask(jobs, "submitter", "GET", {"Origin: null"}).status, 403);
  EXPECT_EQ(ask(jobs, "submitter", "OPTIONS", {"Origin: https://evil.example"}).status, 403);
  EXPECT_EQ(ask(jobs + "/x:cancel", "submitter", "POST", {"Content-Type: text/plain"}).status, 415);
  EXPECT_EQ(ask(jobs, "submitter", "OPTIONS").status, 405);
  // A picture or a link of such a page has no Origin.
  const std::string site = "Sec-Fetch-Site: ";
  for (const std::vector<std::string>& fields : {std::vector{site + "cross-site"},
                                                 {site + "same-site"},
                                                 {site + "Same-Origin"},
                                                 {site + "none", site + "cross-site"}})
    for (const std::string& path : {jobs, jobs + "/x:watch"})
      EXPECT_EQ(ask(path, "submitter", "GET", fields).status, 403) << fields.back();
  for (const char* own : {"same-origin", "none"})
    EXPECT_EQ(ask(jobs, "submitter", "GET", {site + own}).status, 200) << own;
  const std::string own = "Origin: https://localhost:" + std::to_string(secure_->port());
  const HttpReply reply = ask(jobs, "submitter", "GET", {own});
  EXPECT_EQ(reply.status, 200);
  for (const auto& [name, value] : reply.headers) EXPECT_FALSE(name.starts_with("access-control")) << name;
  EXPECT_EQ(reply.headers.at("cache-control"), "no-store");
}

TEST_F(HttpApiAccessTest, OfOneCallerSoManyInATime) {
  for (auto* side : {secure_.get(), plain_.get(), private_.get()}) side->stop();
  open({.rate = {.perSecond = 1, .burst = 3}});
  const std::string jobs = "/api/v1/instances/default/jobs";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(jobs, "submitter").status, 200);
  const HttpReply refused = ask(jobs, "submitter");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_EQ(ask(jobs, "auditor").status, 200) << "another caller";
}

TEST_F(HttpApiAccessTest, TheDescriptionIsForEverybody) {
  const HttpReply reply = ask("/openapi.json", "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, openApiDocument());
  EXPECT_EQ(bodyOf(reply)["paths"].size(), [&] {
    std::set<std::string> paths;
    for (const auto& route : routes_.routes()) paths.insert(route.path.text());
    paths.emplace(transcoding::kUploadPath);
    return paths.size();
  }());
  EXPECT_EQ(ask("/openapi.json", "", "POST").status, 405);
}

}  // namespace
}  // namespace kiln::server::testing
