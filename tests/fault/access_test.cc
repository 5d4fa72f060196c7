// A coordinator that listens beyond its socket, with real programs at both ends: kiln with a certificate and
// with a token, a real worker; and what refuses to start.
#include <csignal>

#include "tests/api/gateway/http.h"
#include "tests/fault/worker_processes.h"
#include "tests/support/tls_files.h"
#include "tests/support/token_factory.h"

namespace kiln::fault {
namespace {

using testing_support::TokenFactory;

constexpr char kIssuer[] = "https://ci.example.org";

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() {
    tls_.client("alice");
    tls_.worker("w1", "op", farm_.authority_, farm_.clock_.now());
    tls_.write("jwks.json", issuer_.jwks());
    writeAccess("submitter");
  }
  void writeAccess(const std::string& aliceIs, const Json& revoked = Json::array()) {
    const auto grant = [](const Json& who, const char* kind, const std::string& role) {
      return Json{{kind, who}, {"roles", {role}}, {"instances", {"default"}}};
    };
    tls_.write("access.json",
               Json{{"apiVersion", "kiln/v1"},
                    {"kind", "Access"},
                    {"tokenIssuers", {{{"issuer", kIssuer}, {"audience", "kiln"}, {"jwks", "jwks.json"}}}},
                    {"revokedCertificates", revoked},
                    {"grants",
                     {grant({{"subject", "CN=alice,O=people"}}, "certificate", aliceIs),
                      grant({{"name", "w*"}, {"operator", "op"}}, "worker", "worker"),
                      grant({{"issuer", kIssuer}, {"subject", "repo:acme/*"}}, "token", "submitter")}}}
                   .dump());
  }
  std::vector<std::string> tlsFlags() const {
    return {"--listen",        "localhost:0",       "--token-listen",    "localhost:0",
            "--tls-cert",      tls_ / "server.pem", "--tls-key",         tls_ / "server.key",
            "--tls-client-ca", tls_ / "ca.pem",     "--access",          tls_ / "access.json",
            "--https",         "127.0.0.1:0",       "--https-port-file", tls_ / "https.port"};
  }
  // What the HTTP side within TLS answers to alice: a status, or 0 without a connection.
  long httpsAsAlice(const std::string& path) {
    std::string port;
    std::ifstream(tls_ / "https.port") >> port;
    const testing_support::HttpTls shown{tls_ / "ca.pem", tls_ / "alice.pem", tls_ / "alice.key"};
    return testing_support::httpGet("https://localhost:" + port + path, {}, "GET", shown).status;
  }
  // The address of --listen with its port, or that of --token-listen, once it serves.
  std::string address(bool tokens = false) {
    std::string found;
    EXPECT_TRUE(eventually([&] {
      const std::string log = farm_.log();
      const auto serving = log.find("serving address=");
      if (serving == std::string::npos) return false;
      auto at = log.find("localhost:", serving);
      if (tokens && at != std::string::npos) at = log.find("localhost:", at + 1);
      if (at == std::string::npos) return false;
      found = log.substr(at, log.find_first_not_of("0123456789", at + 10) - at);
      return true;
    })) << farm_.log();
    return found;
  }
  // Exit code and output of `kiln ARGUMENTS`.
  std::pair<int, std::string> kiln(std::vector<std::string> arguments, bool tokens = false) {
    arguments.insert(arguments.begin(), KILN_BIN "/kiln");
    const std::string log = tls_ / "kiln.log";
    ChildProcess process(arguments, log,
                         {"KILN_ENDPOINT=" + address(tokens), "KILN_TLS_CA=" + (tls_ / "ca.pem")});
    const int code = process.wait();
    return {code, readFile(log)};
  }
  std::pair<int, std::string> kilnAs(const std::string& name, std::vector<std::string> arguments) {
    for (const auto& more : {std::string("--tls-cert"), tls_ / (name + ".pem"), std::string("--tls-key"),
                             tls_ / (name + ".key")})
      arguments.push_back(more);
    return kiln(arguments);
  }

  FarmProcesses farm_{testing_support::PostgresServer::shared()};
  testing_support::TlsFiles tls_;
  TokenFactory issuer_{"RS256"};
};

TEST_F(AccessTest, ACoordinatorDoesNotListenOnTcpWithoutCertificates) {
  farm_.startCoordinator("", 5, {"--listen", "127.0.0.1:0"});
  EXPECT_EQ(farm_.coordinator_->wait(), 2);
  for (const char* option : {"--tls-cert", "--tls-key", "--tls-client-ca", "--access"})
    EXPECT_NE(farm_.log().find(option), std::string::npos) << farm_.log();
}

TEST_F(AccessTest, ACertificateOrATokenReachesTheFarm) {
  farm_.startCoordinator("", 5, tlsFlags());
  const auto listed = kilnAs("alice", {"jobs"});
  EXPECT_EQ(listed.first, 0) << listed.second;
  const auto refused = kilnAs("alice", {"jobs", "--instance", "other"});
  EXPECT_EQ(refused.first, 8) << refused.second;
  EXPECT_NE(refused.second.find("CN=alice,O=people may not call"), std::string::npos) << refused.second;
  const auto bare = kiln({"jobs"});
  EXPECT_EQ(bare.first, 2) << bare.second;
  EXPECT_NE(bare.second.find("--token-file"), std::string::npos) << bare.second;

  const auto expiry = std::chrono::duration_cast<std::chrono::seconds>(
      (SystemClock().now() + std::chrono::minutes(10)).time_since_epoch());
  const Json claims{{"iss", kIssuer}, {"aud", "kiln"}, {"sub", "repo:acme/m"}, {"exp", expiry.count()}};
  const auto file = tls_.token("token", issuer_.token(claims) + "\n");
  const auto withToken = kiln({"jobs", "--token-file", file}, true);
  EXPECT_EQ(withToken.first, 0) << withToken.second;
  const auto forged =
      kiln({"jobs", "--token-file", tls_.token("forged", TokenFactory("RS256").token(claims) + "\n")}, true);
  EXPECT_EQ(forged.first, 8) << forged.second;

  // The Unix socket stays the local user's, and the access file is read again when asked.
  EXPECT_TRUE(farm_.list(true).ok());
  writeAccess("runtime");
  farm_.coordinator_->signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return kilnAs("alice", {"jobs"}).first == 8; }));
  tls_.write("access.json", "{");
  farm_.coordinator_->signal(SIGHUP);
  EXPECT_TRUE(
      eventually([&] { return farm_.log().find("access file kept as it was") != std::string::npos; }));
  v1::GetArtifactRequest request;
  request.set_instance("default");
  request.set_digest("sha256:" + std::string(64, '0'));
  grpc::ClientContext context;
  v1::Artifact artifact;
  EXPECT_EQ(
      v1::ArtifactService::NewStub(testing_support::TlsFiles::channel(address(), tls_.certificateOf("alice")))
          ->GetArtifact(&context, request, &artifact)
          .error_code(),
      grpc::StatusCode::NOT_FOUND)
      << "still a runtime";
}

// Everything that TLS rests on is exchanged under a coordinator that goes on.
TEST_F(AccessTest, CertificatesChangeWithoutARestart) {
  farm_.startCoordinator("", 5, tlsFlags());
  EXPECT_EQ(kilnAs("alice", {"jobs"}).first, 0);
  EXPECT_EQ(httpsAsAlice("/v2/"), 200);
  EXPECT_EQ(httpsAsAlice("/metrics"), 404);

  // A broken file: told, and nothing changes.
  tls_.write("server.pem", "no certificate");
  farm_.coordinator_->signal(SIGHUP);
  EXPECT_TRUE(
      eventually([&] { return farm_.log().find("TLS files kept as they were") != std::string::npos; }));
  EXPECT_EQ(kilnAs("alice", {"jobs"}).first, 0);
  EXPECT_EQ(httpsAsAlice("/v2/"), 200);

  // Other authority, other certificates on both sides.
  tls_.renew();
  tls_.client("alice");
  farm_.coordinator_->signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return httpsAsAlice("/v2/") == 200; })) << farm_.log();
  EXPECT_TRUE(eventually([&] { return kilnAs("alice", {"jobs"}).first == 0; })) << farm_.log();

  // The new alice loses her key.
  writeAccess("submitter", Json::array({tls_.idOf("alice")}));
  farm_.coordinator_->signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return httpsAsAlice("/v2/") == 401; })) << farm_.log();
  const auto refused = kilnAs("alice", {"jobs"});
  EXPECT_EQ(refused.first, 8) << refused.second;
  EXPECT_NE(refused.second.find("revoked"), std::string::npos) << refused.second;
}

TEST_F(AccessTest, AWorkerOverTheNetworkBuilds) {
  farm_.startCoordinator("", 5, tlsFlags());
  ASSERT_TRUE(farm_.ready());
  ASSERT_TRUE(farm_.addToolchain(readFile(KILN_BIN "/kiln-slow-cc")));
  ChildProcess worker(
      {KILN_BIN "/kiln-worker", "--coordinator", address(), "--tls-ca", tls_ / "ca.pem", "--certificate",
       tls_ / "w1.pem", "--key", tls_ / "w1.key", "--state", tls_ / "w1.state", "--slots", "2"},
      tls_ / "w1.log", {}, true);
  v1::Job job;
  ASSERT_TRUE(eventually([&] { return farm_.submit(farm_.request("over-tls"), &job).ok(); }))
      << readFile(tls_ / "w1.log");
  EXPECT_TRUE(eventually([&] { return ended(farm_.get(job.id())); })) << readFile(tls_ / "w1.log");
  const v1::Job done = farm_.get(job.id());
  EXPECT_EQ(done.state(), v1::JOB_SUCCEEDED) << done.error().message() << readFile(tls_ / "w1.log");
  EXPECT_NE(farm_.log().find("worker=w1"), std::string::npos);
}

}  // namespace
}  // namespace kiln::fault
