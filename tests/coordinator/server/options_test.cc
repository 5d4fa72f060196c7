#include "coordinator/server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/server/inputs.h"
#include "manifest/base/digest.h"
#include "signing/keys/files.h"
#include "tests/support/temp_directory.h"

namespace kiln::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Options good() {
  Options options;
  options.listen = {"unix:/run/kiln/coordinator.sock"};
  options.signer = "unix:/run/kiln/signer.sock";
  options.builderId = "urn:kiln:builder:test";
  return options;
}

TEST(Options, ANetworkEndpointWantsMutualTlsAndAnAccessFile) {
  Options options = good();
  EXPECT_TRUE(checkOptions(options));
  for (const char* endpoint : {"0.0.0.0:7443", "127.0.0.1:7443", "[::1]:7443", "farm.example.org:0"}) {
    options.listen = {"unix:/run/kiln/coordinator.sock", endpoint};
    const Status refused = checkOptions(options);
    ASSERT_FALSE(refused) << endpoint;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr(endpoint), HasSubstr("--tls-cert"), HasSubstr("--tls-key"),
                      HasSubstr("--tls-client-ca"), HasSubstr("--access")));
  }
  options.tlsCertificate = "server.pem";
  options.tlsKey = "server.key";
  options.access = "access.json";
  EXPECT_THAT(checkOptions(options).error().message,
              AllOf(HasSubstr("give --tls-client-ca as well"), Not(HasSubstr("--tls-key"))));
  options.tlsClientCa = "ca.pem";
  EXPECT_TRUE(checkOptions(options));
}

TEST(Options, ThePlaintextEndpointIsOnLoopbackAlone) {
  Options options = good();
  for (const char* endpoint : {"127.0.0.1:8980", "[::1]:0", "localhost:8980"}) {
    options.reapiListen = endpoint;
    EXPECT_TRUE(checkOptions(options)) << endpoint;
  }
  for (const char* endpoint : {"0.0.0.0:8980", "farm.example.org:8980", "8980", "unix:/run/x"}) {
    options.reapiListen = endpoint;
    EXPECT_THAT(checkOptions(options).error().message, HasSubstr("--reapi-listen")) << endpoint;
  }
}

TEST(Options, ThePrivateHttpSocketIsAPath) {
  Options options = good();
  options.httpSocket = "/run/kiln/http.sock";
  EXPECT_TRUE(checkOptions(options));
  for (const std::string& path :
       {std::string("http.sock"), std::string("unix:/run/x"), "/" + std::string(107, 'a')}) {
    options.httpSocket = path;
    EXPECT_THAT(checkOptions(options).error().message, HasSubstr("--http-socket")) << path;
  }
}

TEST(Options, AShareOfTracedJobsWantsAReceiver) {
  Options options = good();
  options.traceShare = 0.1;
  EXPECT_THAT(checkOptions(options).error().message, HasSubstr("--traces"));
  options.traces = "http://127.0.0.1:4318";
  EXPECT_TRUE(checkOptions(options));
}

TEST(Options, QuotasAreReadFromTheFileThatIsNamed) {
  const testing_support::TempDirectory directory;
  Options options = good();
  EXPECT_EQ(loadQuotas(options)->of("a").weight, 1) << "without the option nobody has a limit";
  options.quotas = directory / "quotas.json";
  EXPECT_THAT(loadQuotas(options).error().message, AllOf(HasSubstr("--quotas"), HasSubstr(options.quotas)));
  ASSERT_TRUE(signing::writeTextFile(
      options.quotas, R"({"apiVersion": "kiln/v1", "kind": "Quotas", "default": {"weight": 7}})"));
  EXPECT_EQ(loadQuotas(options)->of("a").weight, 7);
}

TEST(Options, ADatabaseThatNamesNoServerIsNotWaitedFor) {
  Options options = good();
  options.database = "host=/run/kiln dbname=kiln";
  EXPECT_TRUE(checkOptions(options)) << "a server that is away";
  for (const char* bad : {"host=/run/kiln dbname", "hots=/run/kiln", "host=/run/kiln port=five"}) {
    options.database = bad;
    const Status refused = checkOptions(options);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr("--database: not a connection string"));
  }
}

TEST(Options, AStoreInABucketIsRefusedByName) {
  Options options = good();
  options.store = "store";
  EXPECT_TRUE(checkOptions(options));
  options.store = "s3://bucket/prefix";
  EXPECT_TRUE(checkOptions(options));
  options.store = "s3://No/prefix";
  const Status refused = checkOptions(options);
  ASSERT_FALSE(refused) << "a directory of that name";
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("--store"), HasSubstr("bucket")));
}

TEST(Options, CallersWithoutACertificateComeOverLoopbackByName) {
  Options options = good();
  EXPECT_FALSE(wantsTls(options));
  options.tokenListen = {"127.0.0.1:7444"};
  EXPECT_TRUE(wantsTls(options));
  EXPECT_THAT(checkOptions(options).error().message, HasSubstr("--tls-cert"));
  options.tlsCertificate = "server.pem";
  options.tlsKey = "server.key";
  options.tlsClientCa = "ca.pem";
  options.access = "access.json";
  for (const char* endpoint : {"127.0.0.1:7444", "localhost:0", "[::1]:7444"}) {
    options.tokenListen = {endpoint};
    EXPECT_TRUE(checkOptions(options)) << endpoint;
  }
  // Also no Unix socket: who calls over one is the local user.
  for (const char* endpoint : {"0.0.0.0:7444", "[::]:7444", "farm.example.org:7444",
                               "127.0.0.1.example.org:1", "unix:/run/kiln/tokens.sock", "localhost"}) {
    options.tokenListen = {endpoint};
    const Status refused = checkOptions(options);
    ASSERT_FALSE(refused) << endpoint;
    EXPECT_THAT(refused.error().message, HasSubstr("--token-listen"));
  }
}

TEST(Options, EndpointsAreSocketsOrAddresses) {
  Options options = good();
  const std::string most = "unix:/" + std::string(106, 'x');
  options.listen = {most};
  options.signer = most;
  EXPECT_TRUE(checkOptions(options));
  options.signer = most + "x";
  EXPECT_THAT(checkOptions(options).error().message, HasSubstr("--signer"));
  options = good();
  options.listen = {most + "x"};
  EXPECT_THAT(checkOptions(options).error().message, AllOf(HasSubstr("--listen"), HasSubstr("107 bytes")));
  for (const char* endpoint : {"", "unix:relative.sock", "localhost", "localhost:70000", ":1", "host:x"}) {
    options.listen = {endpoint};
    EXPECT_FALSE(checkOptions(options)) << endpoint;
  }
  options.listen = {};
  EXPECT_THAT(checkOptions(options).error().message, HasSubstr("--listen"));
}

TEST(Options, SandboxPoliciesAreDigests) {
  Options options = good();
  options.sandboxPolicies = {digestOf("policy").text()};
  EXPECT_TRUE(checkOptions(options));
  options.sandboxPolicies.push_back("compile/1");
  EXPECT_THAT(checkOptions(options).error().message, HasSubstr("--sandbox-policy"));
}

}  // namespace
}  // namespace kiln::server
