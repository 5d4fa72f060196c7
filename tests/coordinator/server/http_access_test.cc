// Every route x caller x instance over HTTP within real mutual TLS; and that nothing of one instance shows in
// another.
#include "coordinator/web/http_gate.h"

#include <filesystem>

#include "coordinator/web/published_blobs.h"
#include "manifest/artifact/oci.h"
#include "signing/follow/log_source.h"
#include "signing/keys/files.h"
#include "tests/api/gateway/http.h"
#include "tests/coordinator/server/access_fixture.h"

namespace kiln::server::testing {
namespace {

using gateway::RouteKind;
using testing_support::HttpReply;

class OneTile final : public gateway::LogFiles {
 public:
  Result<std::string> checkpoint() override { return "a note\n"; }
  Result<std::string> tile(const std::string&) override { return "hashes"; }
};

class HttpAccessTest : public AccessFixture {
 protected:
  HttpAccessTest() {
    EXPECT_TRUE(addToolchain(putToolchain(), "", nullptr, {}, true).ok());
    auto one = worker("w1");
    const v1::Job job = submitted(request("first"));
    settle(job.id(), {one.get()});
    published_ = Digest::parse(get(job.id()).artifacts(0).digest(), 0).value();
    const Digest manifest = fromProto(artifact(published_.text()).manifest()).value();
    const std::string text = storage::getBlob(*blobs_, kGranted, manifest, 1 << 20).value();
    program_ = parseOciManifest(text).value().layers.at(0).digest;
    open(false);
  }
  ~HttpAccessTest() override { web_->stop(); }

  void open(bool publicLog) {
    const gateway::GatewayBackend backend{
        .artifacts = std::make_shared<PublishedBlobs>(pool_),
        .blobs = std::shared_ptr<storage::BlobStore>(blobs_.get(), [](auto*) {}),
        .metrics = registry_,
        .health = [] { return Status(); },
        .log = std::make_shared<OneTile>(),
        .gate = std::make_shared<HttpGate>(gate_, publicLog)};
    web_ = gateway::Gateway::start({.tls = liveTls_->https()}, backend).value();
  }
  // "" has nothing to show, "token" the token of a submitter, anybody else a certificate.
  HttpReply get(const std::string& path, const std::string& caller) {
    testing_support::HttpTls tls{tls_ / "ca.pem", "", ""};
    std::vector<std::string> headers;
    if (caller == "token")
      headers = {"Authorization: Bearer " + testing_support::readGolden(token("repo:acme/model"))};
    else if (!caller.empty())
      tls = {tls_ / "ca.pem", tls_ / (caller + ".pem"), tls_ / (caller + ".key")};
    return testing_support::httpGet("https://localhost:" + std::to_string(web_->port()) + path, headers,
                                    "GET", tls);
  }
  using FarmTest::get;
  std::string pathOf(RouteKind route, const std::string& instance) const {
    const std::string base = "/v2/" + instance + "/artifacts/";
    switch (route) {
      case RouteKind::kHealth:
        return "/healthz";
      case RouteKind::kMetrics:
        return "/metrics";
      case RouteKind::kBase:
        return "/v2/";
      case RouteKind::kManifest:
        return base + "manifests/" + published_.text();
      case RouteKind::kBlob:
        return base + "blobs/" + program_.text();
      case RouteKind::kReferrers:
        return base + "referrers/" + published_.text();
      case RouteKind::kCheckpoint:
        return "/log/checkpoint";
      case RouteKind::kTile:
        return "/log/tile/0/000.p/3";
      case RouteKind::kPage:
        return "/";
    }
    return "";
  }
  // As the table has it, and as the contract of each route: what is not there is not found.
  static long expected(RouteKind route, const std::string& caller, const std::string& instance) {
    const auto rule = ruleOf(route);
    if (!rule) return 404;
    if (caller.empty()) return 401;
    const auto role = access::parseRole(caller == "root"    ? "admin"
                                        : caller == "token" ? "submitter"
                                                            : caller);
    const bool here = rule->scope == access::Scope::kAnywhere || caller == "root" || instance == kGranted;
    if (!role || !rule->roles.has(*role) || !here) return 403;
    const bool another = rule->scope == access::Scope::kInstance && instance == kOther;
    return another && route != RouteKind::kReferrers ? 404 : 200;
  }

  Digest published_, program_;
  std::unique_ptr<gateway::Gateway> web_;
};

TEST_F(HttpAccessTest, EveryRouteCallerAndInstance) {
  int calls = 0, served = 0;
  for (RouteKind route : gateway::kEveryRoute)
    for (const std::string caller : {"submitter", "auditor", "runtime", "worker", "toolchain-admin", "admin",
                                     "nobody", "root", "token", ""})
      for (const std::string instance : {kGranted, kOther}) {
        const std::string path = pathOf(route, instance);
        const HttpReply reply = get(path, caller);
        EXPECT_EQ(reply.status, expected(route, caller, instance)) << path << " as " << caller << reply.body;
        EXPECT_EQ(reply.headers.contains("www-authenticate"), reply.status == 401);
        served += reply.status == 200;
        ++calls;
      }
  EXPECT_EQ(calls, 9 * 10 * 2);
  EXPECT_GT(served, 40);
}

TEST_F(HttpAccessTest, OfAnotherInstanceNothingShows) {
  // Whoever has no role there is told the same of what is there and of what is nowhere.
  for (const char* kind : {"manifests/", "blobs/", "referrers/"}) {
    const std::string base = "/v2/" + std::string(kOther) + "/artifacts/" + kind;
    EXPECT_EQ(get(base + published_.text(), "auditor").body,
              get(base + digestOf("x").text(), "auditor").body);
  }
  // Whoever has one finds nothing.
  EXPECT_EQ(parseJson(get(pathOf(RouteKind::kReferrers, kOther), "root").body)->at("manifests").size(), 0u);
  EXPECT_GE(parseJson(get(pathOf(RouteKind::kReferrers, kGranted), "root").body)->at("manifests").size(), 1u);
}

// Who may read the log there can do so with what Kiln's programs are given, and nobody else learns who asks.
TEST_F(HttpAccessTest, AReaderOfTheLogShowsItsCredentials) {
  const std::string url = "https://localhost:" + std::to_string(web_->port()) + "/log", ca = tls_ / "ca.pem";
  const auto read = [&](const signing::HttpCredentials& credentials) {
    return signing::openLogSource(url, credentials)->checkpoint();
  };
  const std::string certificate = tls_ / "auditor.pem", key = tls_ / "auditor.key", bearer = tls_ / "bearer";
  EXPECT_EQ(read({ca, certificate, key, ""}).value(), "a note\n");
  EXPECT_TRUE(signing::openLogSource(url, {ca, certificate, key, ""})->read(signing::TilePath{0, 0, 3}));
  ASSERT_TRUE(signing::writeSecretFile(bearer, testing_support::readGolden(token("repo:acme/model")) + "\n"));
  EXPECT_EQ(read({ca, "", "", bearer}).value(), "a note\n");
  EXPECT_EQ(read({ca, "", "", ""}).error().code, Code::kUnauthenticated);
  EXPECT_EQ(read({ca, tls_ / "nobody.pem", tls_ / "nobody.key", ""}).error().code, Code::kPermissionDenied);
  EXPECT_EQ(read({"", certificate, key, bearer}).error().code, Code::kUnavailable)
      << "not of the system's authorities";
  const std::pair<signing::HttpCredentials, Code> unread[] = {
      {{ca + ".none", certificate, key, ""}, Code::kNotFound},
      {{key, certificate, key, ""}, Code::kInvalidArgument},
      {{ca, certificate, bearer, ""}, Code::kInvalidArgument},
      {{ca, "", "", key}, Code::kInvalidArgument}};
  for (const auto& [credentials, code] : unread) EXPECT_EQ(read(credentials).error().code, code);
}

TEST_F(HttpAccessTest, TheLogMayBePublic) {
  web_->stop();
  open(true);
  for (RouteKind route : gateway::kEveryRoute) {
    const bool log = route == RouteKind::kCheckpoint || route == RouteKind::kTile;
    EXPECT_EQ(get(pathOf(route, kGranted), "").status, log ? 200 : ruleOf(route) ? 401 : 404);
  }
}

TEST_F(HttpAccessTest, ARevokedOrForeignCertificateIsRefused) {
  const std::string path = pathOf(RouteKind::kManifest, kGranted);
  EXPECT_EQ(get(path, "runtime").status, 200);
  ASSERT_TRUE(writeAccess({{"revokedCertificates", {tls_.idOf("runtime")}}}));
  EXPECT_EQ(get(path, "runtime").status, 401);
  clock_.advance(std::chrono::hours(366 * 24));
  EXPECT_EQ(get(path, "admin").status, 401) << "expired by the farm's clock";
  TlsFiles elsewhere;
  elsewhere.client("admin");
  const testing_support::HttpTls foreign{tls_ / "ca.pem", elsewhere / "admin.pem", elsewhere / "admin.key"};
  const std::string url = "https://localhost:" + std::to_string(web_->port()) + path;
  EXPECT_EQ(testing_support::httpGet(url, {}, "GET", foreign).status, 0) << "no connection at all";
}

// Stock clients, as one who may pull.
TEST_F(HttpAccessTest, SkopeoCopiesWithACertificateAndWithAToken) {
  if (std::system("command -v skopeo >/dev/null 2>&1") != 0) GTEST_SKIP() << "skopeo is not installed";
  const auto copy = [&](const std::string& caller, const std::string& more, const std::string& target) {
    const std::string certificates = tls_ / ("certs-" + caller);
    std::filesystem::create_directory(certificates);
    std::filesystem::copy_file(tls_ / "ca.pem", certificates + "/ca.crt");
    if (more.empty()) {
      std::filesystem::copy_file(tls_ / (caller + ".pem"), certificates + "/client.cert");
      std::filesystem::copy_file(tls_ / (caller + ".key"), certificates + "/client.key");
    }
    const std::string command = "skopeo --insecure-policy copy --preserve-digests --src-cert-dir " +
                                certificates + more + " docker://localhost:" + std::to_string(web_->port()) +
                                "/default/artifacts@" + published_.text() + " dir:" + target +
                                " >/dev/null 2>" + (tls_ / "skopeo.log");
    return std::system(command.c_str()) == 0;
  };
  const auto whole = [&](const std::string& target) {
    return digestOfFile(target + "/manifest.json")->hex() == published_.hex() &&
           digestOfFile(target + "/" + program_.hex()).value() == program_;
  };
  const std::string first = tls_ / "by-certificate", second = tls_ / "by-token";
  ASSERT_TRUE(copy("runtime", "", first)) << testing_support::readGolden(tls_ / "skopeo.log");
  EXPECT_TRUE(whole(first));
  EXPECT_FALSE(copy("nobody", "", tls_ / "refused"));
  const std::string bearer = testing_support::readGolden(token("repo:acme/model"));
  ASSERT_TRUE(copy("token", " --src-registry-token " + bearer, second))
      << testing_support::readGolden(tls_ / "skopeo.log");
  EXPECT_TRUE(whole(second));
  EXPECT_FALSE(copy("forger", " --src-registry-token x" + bearer, tls_ / "forged"));
}

TEST_F(HttpAccessTest, CraneFetchesWithAToken) {
  if (std::system("command -v crane >/dev/null 2>&1") != 0) GTEST_SKIP() << "crane is not installed";
  const std::string place = "localhost:" + std::to_string(web_->port());
  const std::string bearer = testing_support::readGolden(token("repo:acme/model"));
  std::filesystem::create_directory(tls_ / "docker");
  const auto fetch = [&](const std::string& what, const Digest& digest, const std::string& by) {
    tls_.write("docker/config.json", Json{{"auths", {{place, {{"registrytoken", by}}}}}}.dump());
    const std::string command = "SSL_CERT_FILE=" + (tls_ / "ca.pem") + " DOCKER_CONFIG=" + (tls_ / "docker") +
                                " crane " + what + " " + place + "/default/artifacts@" + digest.text() +
                                " >" + (tls_ / "fetched") + " 2>" + (tls_ / "crane.log");
    return std::system(command.c_str()) == 0;
  };
  ASSERT_TRUE(fetch("manifest", published_, bearer)) << testing_support::readGolden(tls_ / "crane.log");
  EXPECT_EQ(digestOfFile(tls_ / "fetched")->hex(), published_.hex());
  ASSERT_TRUE(fetch("blob", program_, bearer)) << testing_support::readGolden(tls_ / "crane.log");
  EXPECT_EQ(digestOfFile(tls_ / "fetched").value(), program_);
  EXPECT_FALSE(fetch("manifest", published_, "x" + bearer));
}

TEST_F(HttpAccessTest, SeveralAuthorizationsAreNone) {
  const testing_support::HttpTls tls{tls_ / "ca.pem", "", ""};
  const std::string bearer = "Authorization: Bearer " + testing_support::readGolden(token("repo:acme/model"));
  const std::string url =
      "https://localhost:" + std::to_string(web_->port()) + pathOf(RouteKind::kManifest, kGranted);
  EXPECT_EQ(testing_support::httpGet(url, {bearer}, "GET", tls).status, 200);
  EXPECT_EQ(testing_support::httpGet(url, {bearer, bearer}, "GET", tls).status, 401);
  EXPECT_EQ(testing_support::httpGet(url, {"Authorization: Basic eDp5"}, "GET", tls).status, 401);
}

}  // namespace
}  // namespace kiln::server::testing
