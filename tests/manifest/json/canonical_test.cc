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

TEST(CanonicalJson, RoundTrips) {
  const std::string text = R"({"a":[-9007199254740991,9007199254740991,"x"],"z":{"y":{}}})";
  EXPECT_EQ(toCanonicalJson(parseStrictJson(text).value()).value(), text);
}

}  // namespace
}  // namespace kiln
