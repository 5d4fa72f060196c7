#include "manifest/base/short_digest.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace kiln
