#include "storage/s3/credentials.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <map>

#include "manifest/base/file.h"
#include "tests/support/temp_directory.h"

namespace kiln::s3 {
namespace {

Environment environmentOf(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

class S3Credentials : public testing::Test {
 protected:
  void write(const std::string& text) { ASSERT_TRUE(writeFile(file_, asBytes(text), O_TRUNC, 0600)); }
  testing_support::TempDirectory directory_;
  const std::string file_ = directory_ / "credentials";
};

TEST_F(S3Credentials, TheEnvironmentComesFirst) {
  write("[default]\naws_access_key_id = F\naws_secret_access_key = f\n");
  auto source = defaultCredentials("", environmentOf({{"AWS_ACCESS_KEY_ID", "E"},
                                                      {"AWS_SECRET_ACCESS_KEY", "e"},
                                                      {"AWS_SESSION_TOKEN", "t"},
                                                      {"AWS_SHARED_CREDENTIALS_FILE", file_}}));
  ASSERT_TRUE(source) << source.error().message;
  const auto got = (*source)->get();
  EXPECT_EQ(got->accessKeyId, "E");
  EXPECT_EQ(got->secretAccessKey, "e");
  EXPECT_EQ(got->sessionToken, "t");
}

TEST_F(S3Credentials, AProfileOfTheFileIsReadAgainWhenItChanged) {
  write(
      "# keys\n[other]\naws_access_key_id=O\naws_secret_access_key=o\n[ farm ]\naws_access_key_id = A\n"
      "aws_secret_access_key = a=b/c+\r\naws_session_token=s\n");
  auto source = defaultCredentials(
      "farm", environmentOf({{"AWS_SHARED_CREDENTIALS_FILE", file_}, {"AWS_ACCESS_KEY_ID", "E"}}));
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->get()->secretAccessKey, "a=b/c+");
  EXPECT_EQ((*source)->get()->sessionToken, "s");
  write("[farm]\naws_access_key_id = NEWER\naws_secret_access_key = n\n");
  EXPECT_EQ((*source)->get()->accessKeyId, "NEWER");
  EXPECT_EQ((*source)->get()->sessionToken, "");
  write("[other]\n");
  EXPECT_EQ((*source)->get().error().code, Code::kUnauthenticated);
}

TEST_F(S3Credentials, SaysWhatIsMissingAndNeverASecret) {
  const auto none = defaultCredentials(
      "", environmentOf({{"HOME", directory_.path()}, {"AWS_EC2_METADATA_DISABLED", "true"}}));
  EXPECT_EQ(none.error().code, Code::kUnauthenticated);
  const auto role = defaultCredentials("", environmentOf({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/x"}}));
  EXPECT_EQ(role.error().code, Code::kInvalidArgument) << "of which role?";
  const auto header = defaultCredentials(
      "", environmentOf({{"AWS_ACCESS_KEY_ID", "E"}, {"AWS_SECRET_ACCESS_KEY", "hidden\r\nX-Injected: 1"}}));
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, Code::kInvalidArgument);
  EXPECT_EQ(header.error().message.find("hidden"), std::string::npos);
}

}  // namespace
}  // namespace kiln::s3
