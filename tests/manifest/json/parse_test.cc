#include <gtest/gtest.h>

#include "manifest/base/utf8.h"
#include "manifest/json/json.h"

namespace kiln {
namespace {

std::string errorOf(std::string_view text, JsonLimits limits = {}) {
  auto value = parseStrictJson(text, limits);
  EXPECT_FALSE(value) << text;
  if (value) return "";
  EXPECT_EQ(value.error().code, Code::kInvalidArgument);
  return value.error().message;
}

TEST(ParseJson, ReadsEveryKindOfValue) {
  auto value = parseStrictJson(R"( {"a":[1,-2,true,false,null,"\u00e9\n"],"b":{}} )");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ((*value)["a"][5], "é\n");
  EXPECT_EQ((*value)["a"][1], -2);
}

TEST(ParseJson, AnyValueMayStandAtTheTop) {
  for (const char* text : {"7", "-7", "true", "false", "null", R"("x")", R"("")", "[]", "{}", "[1,[2],{}]",
                           "[[],[[]]]", R"({"a":{},"b":[{"c":1},{"c":[]}],"d":3})"}) {
    for (const auto& read : {parseJson(text), parseStrictJson(text), parseCanonicalJson(text)}) {
      ASSERT_TRUE(read) << text << ": " << read.error().message;
      EXPECT_EQ(toCanonicalJson(*read).value(), text);
    }
  }
}

TEST(ParseJson, ReadsNothingBehindItsText) {
  const std::string_view longer = R"(77[1,2]]{"a":1}x "y"z truee)";
  for (const char* text : {"7", "[1,2]", R"({"a":1})", R"("y")", "true"}) {
    const std::string_view part = longer.substr(longer.find(text), std::string_view(text).size());
    const auto read = parseStrictJson(part);
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(toCanonicalJson(*read).value(), text);
    EXPECT_FALSE(parseStrictJson(longer.substr(longer.find(text), part.size() - 1))) << text;
  }
}

TEST(ParseJson, RefusesDuplicateMembersAtAnyDepth) {
  EXPECT_NE(errorOf(R"({"a":1,"a":1})").find("duplicate member \"a\" at byte"), std::string::npos);
  EXPECT_NE(errorOf(R"({"x":[{"b":1,"c":2,"b":3}]})").find("duplicate"), std::string::npos);
  EXPECT_NE(errorOf("{\"a\":1,\"\\u0061\":2}").find("duplicate"),
            std::string::npos);  // the same name, escaped
  EXPECT_FALSE(parseJson(R"({"a":1,"a":2})"));
}

TEST(ParseJson, RefusesDeepNestingWithoutFallingOver) {
  EXPECT_NE(errorOf(std::string(500000, '[')).find("nesting"), std::string::npos);
  EXPECT_TRUE(parseStrictJson(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(parseStrictJson(std::string(65, '[') + std::string(65, ']')));
  EXPECT_TRUE(parseStrictJson(R"({"a":[1]})", {.depth = 2}));
  EXPECT_NE(errorOf(R"({"a":[1]})", {.depth = 1}).find("nesting deeper than 1"), std::string::npos);
  EXPECT_TRUE(parseStrictJson("[[],[],{}]", {.depth = 2})) << "what is closed nests no more";
}

TEST(ParseJson, RefusesWhatIsTooLong) {
  EXPECT_NE(errorOf("[1,2,3]", {.bytes = 6}).find("at most 6"), std::string::npos);
  EXPECT_TRUE(parseStrictJson("[1,2,3]", {.bytes = 7}));
}

TEST(ParseJson, RefusesFractionsExponentsAndLargeIntegersWhenStrict) {
  for (const char* text :
       {"1.0", "1e3", "-0.5", "9007199254740992", "-9007199254740992", "18446744073709551616"})
    EXPECT_FALSE(parseStrictJson(text)) << text;
  EXPECT_EQ(parseJson("1.5").value(), 1.5);
  EXPECT_EQ(parseJson("9007199254740992").value(), std::uint64_t{1} << 53);
  EXPECT_EQ(parseJson("-9007199254740992").value(), -(std::int64_t{1} << 53));
  EXPECT_EQ(parseJson("{\"\u00e9\":1}")->size(), 1u);
  EXPECT_TRUE(parseStrictJson("-9007199254740991"));
  EXPECT_TRUE(parseStrictJson("9007199254740991"));
}

TEST(ParseJson, RefusesBadTextAndNamesTheByte) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1}x", "nul", "\"\\ud800\"", "'a'", "[1 2]", "// c\n1"})
    EXPECT_NE(errorOf(text).find("at byte"), std::string::npos) << text;
  EXPECT_FALSE(parseStrictJson("\"\xff\""));
  EXPECT_FALSE(parseStrictJson("\xEF\xBB\xBF{}"));
  EXPECT_FALSE(parseStrictJson("{\"é\":1}"));
  EXPECT_FALSE(parseStrictJson("{\"\\u0080\":1}"));
  EXPECT_TRUE(parseStrictJson("{\"\x7f\":1}"));
}

TEST(ParseJson, CanonicalTextOnly) {
  EXPECT_TRUE(parseCanonicalJson(R"({"a":1,"b":[]})"));
  for (const char* text : {R"({"b":1,"a":1})", R"({"a": 1})", "-0", R"("\u0041")", "1 "})
    EXPECT_FALSE(parseCanonicalJson(text)) << text;
}

TEST(ParseJson, SurvivesTruncationAndFlips) {
  const std::string good = R"({"a":[1,{"b":"c\u0001"}],"d":"é"})";
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(parseStrictJson(good.substr(0, i)));
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      (void)parseStrictJson(bad);
    }
  }
}

TEST(Utf8, FollowsRfc3629) {
  for (const char* good : {"", "abc", "é", "€", "\U0001F600"}) EXPECT_TRUE(isUtf8(good)) << good;
  for (const char* bad : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80",
                          "\xF8\x88\x80\x80\x80"})
    EXPECT_FALSE(isUtf8(bad));
}

}  // namespace
}  // namespace kiln
