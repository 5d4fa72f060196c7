#include <gtest/gtest.h>

#include "manifest/json/json.h"

namespace kiln {
namespace {

TEST(CanonicalJson, SortsMembersAndWritesNoSpace) {
  EXPECT_EQ(toCanonicalJson(Json{{"b", 1}, {"a", {1, 2}}, {"B", nullptr}, {"aa", false}}).value(),
            R"({"B":null,"a":[1,2],"aa":false,"b":1})");
}

TEST(CanonicalJson, EscapesAsRfc8785) {
  EXPECT_EQ(toCanonicalJson(Json("\"\\/\b\f\n\r\t\x01\x1f\x7f€\U0001F600")).value(),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f€\U0001F600\"");
}

TEST(CanonicalJson, RefusesWhatHasNoCanonicalForm) {
  Json deep = 1;
  for (int i = 0; i < 70; ++i) deep = Json::array({deep});
  for (const Json& bad : {Json(1.5), Json(100.0), Json(std::uint64_t{1} << 53), Json(INT64_MIN), Json("\xff"),
                          Json{{"\xC3\xA9", 1}}, Json::binary({1}), deep})
    EXPECT_EQ(toCanonicalJson(bad).error().code, Code::kInvalidArgument);
}

TEST(CanonicalJson, IntegersEndWhereEveryReaderKeepsThem) {
  const auto written = [](const Json& value) { return toCanonicalJson(value).value_or("refused"); };
  EXPECT_EQ(written(kMaxJsonInteger), "9007199254740991");
  EXPECT_EQ(written(kMaxJsonInteger + 1), "refused");
  EXPECT_EQ(written(-kMaxJsonInteger), "-9007199254740991");
  EXPECT_EQ(written(-kMaxJsonInteger - 1), "refused");
  EXPECT_EQ(written(static_cast<std::uint64_t>(kMaxJsonInteger)), "9007199254740991");
  EXPECT_EQ(written(static_cast<std::uint64_t>(kMaxJsonInteger) + 1), "refused");
  EXPECT_EQ(written(INT64_MAX), "refused");
  EXPECT_EQ(written(UINT64_MAX), "refused");
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(0u), "0");
  EXPECT_EQ(written(-1), "-1");
}

TEST(CanonicalJson, NestsAsDeepAsAParserReads) {
  const auto nested = [](int depth, bool object) {
    Json value = object ? Json::object() : Json::array();
    for (int i = 1; i < depth; ++i) value = object ? Json{{"a", value}} : Json::array({value});
    return value;
  };
  for (const bool object : {false, true}) {
    const auto most = toCanonicalJson(nested(64, object));
    ASSERT_TRUE(most) << most.error().message;
    EXPECT_TRUE(parseCanonicalJson(*most));
    EXPECT_FALSE(toCanonicalJson(nested(65, object)));
  }
}

TEST(CanonicalJson, WhatIsInsideIsHeldToTheSame) {
  for (const Json& bad :
       {Json(1.5), Json("\xff"), Json(UINT64_MAX), Json{{"\xC2\x80", 1}}, Json::binary({1})}) {
    EXPECT_FALSE(toCanonicalJson(Json::array({1, bad})));
    EXPECT_FALSE(toCanonicalJson(Json{{"a", 1}, {"b", bad}}));
    EXPECT_FALSE(toCanonicalJson(Json{{"a", Json::array({Json{{"b", bad}}})}}));
  }
}

TEST(CanonicalJson, RoundTrips) {
  const std::string text = R"({"a":[-9007199254740991,9007199254740991,"x"],"z":{"y":{}}})";
  EXPECT_EQ(toCanonicalJson(parseStrictJson(text).value()).value(), text);
}

}  // namespace
}  // namespace kiln
