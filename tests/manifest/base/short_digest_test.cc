#include "manifest/base/short_digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kiln {
namespace {

TEST(ShortDigest, SpansAllThatBeginSo) {
  const auto range = shortDigestRange("sha256:0123456789ab");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first.hex(), "0123456789ab" + std::string(52, '0'));
  EXPECT_EQ(range->last.hex(), "0123456789ab" + std::string(52, 'f'));
  const auto odd = shortDigestRange("sha256:" + std::string(63, '7'));
  ASSERT_TRUE(odd) << "half a byte is missing";
  EXPECT_EQ(odd->first.hex(), std::string(63, '7') + "0");
  EXPECT_EQ(odd->last.hex(), std::string(63, '7') + "f");
}

TEST(ShortDigest, NothingElseIsOne) {
  for (const std::string& text : {std::string(), std::string("sha256:"), std::string("sha256:0123456789a"),
                                  std::string("0123456789abcdef"), std::string("sha256:0123456789AB"),
                                  std::string("sha256:0123456789ag"), std::string("sha256:0123456789ab "),
                                  std::string("sha512:0123456789ab"), "sha256:" + std::string(64, '0'),
                                  "sha256:" + std::string(65, '0')})
    EXPECT_FALSE(shortDigestRange(text)) << text;
}

TEST(ShortDigest, AMemberThatIsNoneIsToldByNameAndForm) {
  const auto digest = digestMember("digest", "sha256:" + std::string(64, '7'), true);
  ASSERT_TRUE(digest);
  EXPECT_EQ(digest->hex(), std::string(64, '7'));
  EXPECT_EQ(
      digestMember("digest", "mnist.onnx", true).error().message,
      "digest: \"mnist.onnx\" is no digest; give sha256:<64 lowercase hex>, or the first 12 of them or more");
  EXPECT_EQ(digestMember("before", "a\u202eb\x1b", false).error().message,
            "before: \"a?b?\" is no digest; give sha256:<64 lowercase hex>");
}

TEST(ShortDigest, DigitsAloneAreKnown) {
  for (const char* text : {"0123456789ab", "abcdefabcdefabcd"}) EXPECT_TRUE(isBareDigest(text)) << text;
  EXPECT_TRUE(isBareDigest(std::string(64, '0')));
  for (const char* text : {"", "0123456789a", "0123456789AB", "sha256:0123456789ab", "0123456789ag"})
    EXPECT_FALSE(isBareDigest(text)) << text;
  EXPECT_FALSE(isBareDigest(std::string(65, '0')));
}

TEST(ShortDigest, WhatItCouldMeanIsListedUpToABound) {
  std::vector<Digest> found(2);
  found[1].hash[31] = 1;
  const Error few = severalMeant("sha256:000000000000", "artifacts' digests", found);
  EXPECT_EQ(few.code, Code::kInvalidArgument);
  EXPECT_EQ(few.message, "sha256:000000000000 is the beginning of several artifacts' digests: " +
                             found[0].text() + ", " + found[1].text() + "; give more digits");
  found.resize(kMaxMeant);
  const Error many = severalMeant("sha256:000000000000", "digests", found);
  EXPECT_NE(many.message.find(" and more; give more digits"), std::string::npos) << many.message;
  EXPECT_EQ(std::ranges::count(many.message, ','), kMaxMeant - 2);
}

}  // namespace
}  // namespace kiln
