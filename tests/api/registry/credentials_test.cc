// What is read of a docker-style configuration, and that no message holds a secret.
#include "api/registry/credentials.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/temp_directory.h"

namespace kiln::registry {
namespace {

constexpr char kSecret[] = "dXNlcjpzM2NyM3Q=";  // user:s3cr3t

TEST(RegistryCredentials, OfTheHostThatIsAskedFor) {
  const std::string config = std::string(R"({"auths":{"a.b:5000":{"auth":")") + kSecret +
                             R"("},"https://c.d":{"username":"user","password":"s3cr3t"},"e.f":{}}})";
  EXPECT_EQ(parseDockerConfig(config, "a.b:5000").value().basic, kSecret);
  EXPECT_EQ(parseDockerConfig(config, "c.d").value().basic, kSecret);
  EXPECT_FALSE(parseDockerConfig(config, "e.f").value().given());
  EXPECT_FALSE(parseDockerConfig(config, "a.b").value().given());
  EXPECT_FALSE(parseDockerConfig("{}", "a.b").value().given());
}

TEST(RegistryCredentials, SaysWhatAHelperKeeps) {
  EXPECT_NE(parseDockerConfig(R"({"credsStore":"desktop"})", "a.b").value().without, "");
  EXPECT_NE(parseDockerConfig(R"({"credHelpers":{"a.b":"x"}})", "a.b").value().without, "");
  EXPECT_EQ(parseDockerConfig(R"({"credHelpers":{"a.b":"x"}})", "c.d").value().without, "");
}

TEST(RegistryCredentials, RefusesWhatIsMalformedWithoutRepeatingIt) {
  for (const char* config : {"", "[]", "{", R"({"auths":{"a.b":{"auth":"s3cr3t s3cr3t"}}})",
                             R"({"auths":{"a.b":{"auth":7}}})", R"({"auths":{"a.b":{"auth":"czNjcjN0"}}})",
                             R"({"auths":{"a.b":{"identitytoken":"s3cr3t"}}})", R"({"auths":s3cr3t})"}) {
    const auto read = parseDockerConfig(config, "a.b");
    ASSERT_FALSE(read) << config;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument) << config;
    EXPECT_EQ(read.error().message.find("s3cr3t"), std::string::npos) << read.error().message;
  }
  EXPECT_FALSE(parseDockerConfig(std::string(2 << 20, ' '), "a.b"));
}

TEST(RegistryCredentials, AreInFilesThatNobodyElseMayRead) {
  const testing_support::TempDirectory directory;
  const std::string path = directory / "token";
  std::ofstream(path) << "s3cr3t\n";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(readTokenFile(path).value().bearer, "s3cr3t");
  std::ofstream(path) << "two words\n";
  EXPECT_EQ(readTokenFile(path).error().code, Code::kInvalidArgument);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(readTokenFile(path).error().code, Code::kPermissionDenied);
  EXPECT_EQ(readDockerConfig(path, "a.b").error().code, Code::kPermissionDenied);
}

}  // namespace
}  // namespace kiln::registry
