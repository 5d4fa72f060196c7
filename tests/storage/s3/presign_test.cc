// The signature of a URL, by the example of Amazon's documentation.
#include "storage/s3/presign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::s3 {
namespace {

using ::testing::HasSubstr;

const Credentials kExample{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};

Presigned example() {
  return {.method = "GET",
          .url = "https://examplebucket.s3.amazonaws.com/test.txt",
          .region = "us-east-1",
          .headers = {},
          .now = parseRfc3339("2013-05-24T00:00:00Z").value(),
          .lifetime = std::chrono::hours(24)};
}

// "Authenticating Requests: Using Query Parameters", Example.
TEST(Presign, IsAsInTheDocumentation) {
  EXPECT_EQ(presign(example(), kExample),
            "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
            "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
            "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
            "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

TEST(Presign, CoversWhatHasToComeWithIt) {
  Presigned put = example();
  put.method = "PUT";
  put.headers = {{"x-amz-checksum-sha256", "AAAA"}, {"content-length", "5"}};
  const std::string url = presign(put, kExample);
  EXPECT_THAT(url, HasSubstr("&X-Amz-SignedHeaders=content-length%3Bhost%3Bx-amz-checksum-sha256&"));
  put.headers["content-length"] = "6";
  EXPECT_NE(presign(put, kExample), url);
}

TEST(Presign, CarriesTheTokenOfKeysThatExpire) {
  Credentials session = kExample;
  session.sessionToken = "to/ken+=";
  EXPECT_THAT(presign(example(), session),
              HasSubstr("&X-Amz-Security-Token=to%2Fken%2B%3D&X-Amz-SignedHeaders=host"));
}

}  // namespace
}  // namespace kiln::s3
