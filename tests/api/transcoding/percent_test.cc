#include "api/transcoding/percent.h"

#include <gtest/gtest.h>

namespace kiln::transcoding {
namespace {

std::string refusalOf(std::string_view text) {
  const auto decoded = percentDecode(text, "the path's id");
  return decoded ? "" : decoded.error().message;
}

TEST(Percent, IsDecodedOnce) {
  EXPECT_EQ(percentDecode("a%2Fb%2fc", "x").value(), "a/b/c");
  EXPECT_EQ(percentDecode("%252f", "x").value(), "%2f");
  EXPECT_EQ(percentDecode("..%2f..", "x").value(), "../..");
  EXPECT_EQ(percentDecode("a+b", "x").value(), "a+b") << "a path has no forms' spaces";
  EXPECT_EQ(percentDecode("%C3%A9", "x").value(), "\xc3\xa9");
}

TEST(Percent, WhatIsNoneIsRefusedByName) {
  for (const char* text : {"%", "%2", "%zz", "a%", "%2g", "%%20"})
    EXPECT_NE(refusalOf(text).find("hexadecimal"), std::string::npos) << text << refusalOf(text);
  EXPECT_NE(refusalOf("%00").find("NUL"), std::string::npos);
  EXPECT_NE(refusalOf("a%00b").find("the path's id"), std::string::npos);
  for (const char* text : {"%ff", "%C3", "%ED%A0%80", "%C0%AF"})
    EXPECT_NE(refusalOf(text).find("UTF-8"), std::string::npos) << text;
}

TEST(Query, HasNamesAndValuesInOrder) {
  const auto query = parseQuery("a=1&b=x%26y&a=&c=p+q%2Br&d==").value();
  ASSERT_EQ(query.size(), 5u);
  EXPECT_EQ(query[0], std::pair(std::string("a"), std::string("1")));
  EXPECT_EQ(query[1].second, "x&y");
  EXPECT_EQ(query[2], std::pair(std::string("a"), std::string()));
  EXPECT_EQ(query[3].second, "p q+r");
  EXPECT_EQ(query[4].second, "=");
  EXPECT_TRUE(parseQuery("")->empty());
}

TEST(Query, WhatIsNoneIsRefused) {
  for (const char* query : {"a", "=1", "a=1&", "&", "&&", "a=1&&b=2", "a&b=1"}) {
    const auto parsed = parseQuery(query);
    EXPECT_EQ(parsed.has_value(), std::string_view(query) == "a=1&") << query;
  }
  EXPECT_FALSE(parseQuery("a=%"));
  EXPECT_FALSE(parseQuery("%00=1"));
  std::string many;
  for (std::size_t i = 0; i <= kMaxParameters; ++i) many += (i ? "&a=" : "a=") + std::to_string(i);
  const auto parsed = parseQuery(many);
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("more than 64"), std::string::npos);
  EXPECT_TRUE(parseQuery(many.substr(0, many.rfind('&'))));
}

}  // namespace
}  // namespace kiln::transcoding
