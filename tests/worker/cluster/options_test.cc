#include "worker/cluster/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::cluster {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  const auto options = parseExecutor(text);
  if (options) return "accepted";
  EXPECT_EQ(options.error().code, Code::kInvalidArgument);
  return options.error().message;
}

TEST(ClusterOptions, NameAClusterItsPlatformAndHowItIsReached) {
  const auto plain = parseExecutor("reapi=127.0.0.1:8980");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->where.address, "127.0.0.1:8980");
  EXPECT_EQ(plain->where.instance, "");
  EXPECT_EQ(plain->queueLimit, std::chrono::seconds(60));
  const auto whole = parseExecutor(
      "reapi=cluster.example:443,instance=a/b,platform=OSFamily=linux,platform=image=docker://x=y,tls=ca.pem,"
      "token=t,queue-seconds=5");
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->where.instance, "a/b");
  EXPECT_EQ(whole->where.platform,
            (std::map<std::string, std::string>{{"OSFamily", "linux"}, {"image", "docker://x=y"}}));
  EXPECT_EQ(whole->tls, "ca.pem");
  EXPECT_EQ(whole->token, "t");
  EXPECT_EQ(whole->queueLimit, std::chrono::seconds(5));
}

TEST(ClusterOptions, WhatIsWrongIsNamed) {
  for (const auto& [text, message] : {
           std::pair{"", "is not NAME=VALUE"},
           {"reapi", "is not NAME=VALUE"},
           {"instance=a", "must name the cluster"},
           {"reapi=", "must name the cluster"},
           {"reapi=127.0.0.1", "must name the cluster"},
           {"reapi=127.0.0.1:1,", "is not NAME=VALUE"},
           {"reapi=127.0.0.1:1,reapi=127.0.0.1:2", "reapi= stands there twice"},
           {"reapi=127.0.0.1:1,platform=x", "write platform=KEY=VALUE"},
           {"reapi=127.0.0.1:1,platform==x", "write platform=KEY=VALUE"},
           {"reapi=127.0.0.1:1,platform=a=1,platform=a=2", "stands there twice"},
           {"reapi=127.0.0.1:1,queue-seconds=0", "give 1 to 3600"},
           {"reapi=127.0.0.1:1,queue-seconds=4000", "give 1 to 3600"},
           {"reapi=127.0.0.1:1,slot=2", "\"slot\" is not known"},
       })
    EXPECT_THAT(refusal(text), HasSubstr(message)) << text;
}

// A token, and a farm's models, do not cross a network in the clear.
TEST(ClusterOptions, PlaintextIsForThisMachine) {
  for (const char* near : {"127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/run/c.sock"})
    EXPECT_TRUE(parseExecutor(std::string("reapi=") + near)) << near;
  for (const char* far :
       {"cluster.example:443", "10.0.0.1:1", "127.0.0.1.example:1", "localhost.example:1"}) {
    EXPECT_THAT(refusal(std::string("reapi=") + far), HasSubstr("give tls=FILE")) << far;
    EXPECT_TRUE(parseExecutor(std::string("reapi=") + far + ",tls=ca.pem")) << far;
  }
  EXPECT_THAT(refusal("reapi=127.0.0.1:1,token=t"), HasSubstr("through TLS alone"));
}

}  // namespace
}  // namespace kiln::cluster
