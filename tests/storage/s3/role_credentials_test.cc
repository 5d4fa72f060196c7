// Keys for a role: who is asked, how, how often, and what becomes of a wrong answer.
#include "storage/s3/role_credentials.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "manifest/base/file.h"
#include "tests/support/http_listener.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_directory.h"

namespace kiln::s3 {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::httpAnswer;
using testing_support::HttpListener;
using testing_support::HttpSeen;

class RoleCredentials : public ::testing::Test {
 protected:
  Environment environment(std::map<std::string, std::string> values) {
    return [values = std::move(values)](const char* name) -> std::optional<std::string> {
      const auto found = values.find(name);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    };
  }
  std::string until() const { return rfc3339(clock_.now() + std::chrono::hours(1)); }
  std::string json(const std::string& key) const {
    return R"({"Code":"Success","Type":"AWS-HMAC","AccessKeyId":")" + key +
           R"(","SecretAccessKey":"s/e+c","Token":"to=ken","Expiration":")" + until() + "\"}";
  }
  std::string answer(const HttpSeen& seen) {
    const MutexLock lock(mutex_);
    seen_.push_back(seen);
    if (away_) return httpAnswer(500);
    if (seen.target == "/latest/api/token") return httpAnswer(200, "session-1");
    if (seen.target == "/latest/meta-data/iam/security-credentials/") {
      if (seen.headers.count("x-aws-ec2-metadata-token") == 0) return httpAnswer(401);
      return httpAnswer(200, "farm-role\n");
    }
    if (seen.method == "POST")
      return httpAnswer(
          200,
          "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>"
          "ASIAWEB</AccessKeyId><SecretAccessKey>web</SecretAccessKey><SessionToken>t</SessionToken>"
          "<Expiration>" +
              until() +
              "</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
              "</AssumeRoleWithWebIdentityResponse>");
    return httpAnswer(200, broken_.empty() ? json("ASIA" + std::to_string(seen_.size())) : broken_);
  }
  std::vector<HttpSeen> seen() {
    const MutexLock lock(mutex_);
    return seen_;
  }
  void set(bool away, const std::string& broken = "") {
    const MutexLock lock(mutex_);
    away_ = away;
    broken_ = broken;
  }

  testing_support::TempDirectory directory_;
  testing_support::ManualClock clock_;
  Mutex mutex_;
  std::vector<HttpSeen> seen_ KILN_GUARDED_BY(mutex_);
  bool away_ KILN_GUARDED_BY(mutex_) = false;
  std::string broken_ KILN_GUARDED_BY(mutex_);
  HttpListener server_{[this](const HttpSeen& seen) { return answer(seen); }};
};

TEST_F(RoleCredentials, AWorkloadShowsItsToken) {
  const std::string file = directory_ / "token";
  ASSERT_TRUE(writeFile(file, asBytes("header.pay+load/x=\n"), O_TRUNC, 0600));
  const auto source = roleCredentials(environment({{"AWS_WEB_IDENTITY_TOKEN_FILE", file},
                                                   {"AWS_ROLE_ARN", "arn:aws:iam::1:role/farm"},
                                                   {"AWS_ENDPOINT_URL_STS", server_.url()}}),
                                      clock_);
  ASSERT_TRUE(source) << source.error().message;
  const auto keys = (*source)->get();
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->accessKeyId, "ASIAWEB");
  EXPECT_EQ(keys->sessionToken, "t");
  const auto asked = seen();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Ffarm"
            "&RoleSessionName=kiln&WebIdentityToken=header.pay%2Bload%2Fx%3D");
  EXPECT_EQ(asked[0].headers.count("authorization"), 0u);
}

TEST_F(RoleCredentials, AMachineIsAskedWithASession) {
  const auto source =
      machineCredentials(environment({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", server_.url()}}), clock_);
  const auto keys = source->get();
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->secretAccessKey, "s/e+c");
  EXPECT_EQ(keys->sessionToken, "to=ken");
  const auto asked = seen();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].method, "PUT");
  EXPECT_EQ(asked[2].target, "/latest/meta-data/iam/security-credentials/farm-role");
  EXPECT_EQ(asked[2].headers.at("x-aws-ec2-metadata-token"), "session-1");
  EXPECT_EQ(machineCredentials(environment({{"AWS_EC2_METADATA_DISABLED", "true"}}), clock_), nullptr);
}

TEST_F(RoleCredentials, KeysAreRenewedBeforeTheyExpireAndKeptWhileThatFails) {
  const std::string token = directory_ / "token";
  ASSERT_TRUE(writeFile(token, asBytes("let-me-in\n"), O_TRUNC, 0600));
  const auto source =
      roleCredentials(environment({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", server_.url() + "/v1/credentials"},
                                   {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token}}),
                      clock_);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->get()->accessKeyId, "ASIA1");
  EXPECT_EQ(seen()[0].headers.at("authorization"), "let-me-in");
  EXPECT_EQ((*source)->get()->accessKeyId, "ASIA1");
  clock_.advance(std::chrono::minutes(56));
  EXPECT_EQ((*source)->get()->accessKeyId, "ASIA2");
  clock_.advance(std::chrono::minutes(56));
  set(true);
  EXPECT_EQ((*source)->get()->accessKeyId, "ASIA2") << "they hold for four minutes yet";
  clock_.advance(std::chrono::minutes(5));
  EXPECT_EQ((*source)->get().error().code, Code::kUnauthenticated);
}

TEST_F(RoleCredentials, AWrongAnswerIsNoKey) {
  const auto source =
      machineCredentials(environment({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", server_.url()}}), clock_);
  for (const std::string& wrong :
       {std::string("not json"), std::string("{}"),
        R"({"AccessKeyId":"A","SecretAccessKey":"s\r\nX: 1","Token":"t","Expiration":")" + until() + "\"}",
        std::string(R"({"AccessKeyId":"A","SecretAccessKey":"hidden","Token":"t","Expiration":"soon"})")}) {
    set(false, wrong);
    const auto keys = source->get();
    ASSERT_FALSE(keys) << wrong;
    EXPECT_EQ(keys.error().code, Code::kUnauthenticated);
    EXPECT_THAT(keys.error().message, Not(HasSubstr("hidden")));
  }
}

}  // namespace
}  // namespace kiln::s3
