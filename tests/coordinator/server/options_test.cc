#include "coordinator/server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Options, EndpointsAreSocketsOrAddresses) {
  Options options = good();
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
