#include "storage/s3/location.h"

#include <gtest/gtest.h>

namespace kiln::s3 {
namespace {

TEST(S3Location, ReadsTheWholeUrl) {
  const auto location = Location::parse(
      "s3://my-bucket/farm/one/?endpoint=https://"
      "store.example:9000&region=eu-central-1&style=host&profile=farm&"
      "ca=/etc/kiln/ca.pem&sse=aws:kms&kms-key=arn:aws:kms:eu-central-1:1:key/a-b");
  ASSERT_TRUE(location) << location.error().message;
  EXPECT_EQ(location->bucket, "my-bucket");
  EXPECT_EQ(location->prefix, "farm/one/");
  EXPECT_EQ(location->endpoint, "https://store.example:9000");
  EXPECT_EQ(location->region, "eu-central-1");
  EXPECT_EQ(location->profile, "farm");
  EXPECT_EQ(location->ca, "/etc/kiln/ca.pem");
  EXPECT_EQ(location->encryption, "aws:kms");
  EXPECT_EQ(location->kmsKey, "arn:aws:kms:eu-central-1:1:key/a-b");
  EXPECT_EQ(location->urlOf("blobs/ab"), "https://my-bucket.store.example:9000/farm/one/blobs/ab");
  EXPECT_EQ(location->text(), "s3://my-bucket/farm/one/");
}

TEST(S3Location, KnowsAmazonsEndpointsAndTakesPathsForOthers) {
  EXPECT_EQ(Location::parse("s3://abc?region=eu-west-1")->urlOf("k"),
            "https://abc.s3.eu-west-1.amazonaws.com/k");
  EXPECT_EQ(Location::parse("s3://abc/p?endpoint=http://127.0.0.1:9/")->urlOf("k"),
            "http://127.0.0.1:9/abc/p/k");
  EXPECT_EQ(Location::parse("s3://abc/p?endpoint=http://[::1]:9")->urlOf("k"), "http://[::1]:9/abc/p/k");
  EXPECT_EQ(Location::parse("s3://a.b.c?style=path")->style, Style::kPath);
}

TEST(S3Location, RefusesWhatHasTwoSpellings) {
  for (const char* url : {"",
                          "s3:/abc",
                          "http://abc",
                          "s3://",
                          "s3://ab",
                          "s3://ABC",
                          "s3://a_b_c",
                          "s3://-abc",
                          "s3://a..b",
                          "s3://abc/a//b",
                          "s3://abc/../b",
                          "s3://abc/a%20b",
                          "s3://abc/a b",
                          "s3://abc?x=1",
                          "s3://abc?region=a&region=b",
                          "s3://abc?region=",
                          "s3://abc?region=a/b",
                          "s3://abc?style=both",
                          "s3://abc?endpoint=ftp://h",
                          "s3://abc?endpoint=http://u@h",
                          "s3://abc?endpoint=http://h/path",
                          "s3://abc?endpoint=http://h:",
                          "s3://abc?endpoint=http://h:x",
                          "s3://abc?endpoint=h",
                          "s3://abc?sse=customer",
                          "s3://abc?kms-key=k",
                          "s3://abc?sse=AES256&kms-key=k",
                          "s3://a.b.c",
                          "s3://abc?ca=/x&endpoint=http://h",
                          "s3://abc?endpoint=http://h\r\nX:1"}) {
    const auto parsed = Location::parse(url);
    ASSERT_FALSE(parsed) << url;
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace kiln::s3
