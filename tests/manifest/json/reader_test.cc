#include "manifest/json/reader.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(ObjectReader, ReadsTypedMembersAndNamesThePlace) {
  Json json{{"s", "x"}, {"n", 7}, {"big", "18446744073709551615"}, {"o", {{"t", true}}}, {"l", {"a", "b"}}};
  ObjectReader reader = ObjectReader::open(json, "spec").value();
  EXPECT_EQ(reader.string("s").value(), "x");
  EXPECT_EQ(reader.integer("n", 0, 7).value(), 7);
  EXPECT_EQ(reader.unsigned64("big").value(), UINT64_MAX);
  EXPECT_EQ(reader.unsigned64("n").value(), 7u);
  EXPECT_TRUE(reader.object("o")->boolean("t").value());
  EXPECT_EQ(reader.strings("l")->size(), 2u);
  EXPECT_TRUE(reader.finish());
  EXPECT_EQ(reader.string("absent").error().message, "spec.absent: missing");
  EXPECT_EQ(reader.object("o")->string("t").error().message, "spec.o.t: must be a string");
  EXPECT_EQ(reader.integer("n", 8, 9).error().message, "spec.n: must be an integer from 8 to 9");
}

TEST(ObjectReader, EveryMemberHasOneType) {
  const Json json{{"o", Json::object()}, {"l", Json::array()}, {"s", "x"}, {"b", true}, {"n", 7}, {"f", 0.5},
                  {"0", nullptr}};
  for (auto it = json.begin(); it != json.end(); ++it) {
    ObjectReader reader = ObjectReader::open(json, "").value();
    const std::string& name = it.key();
    EXPECT_EQ(reader.object(name).has_value(), name == "o") << name;
    EXPECT_EQ(reader.array(name).has_value(), name == "l") << name;
    EXPECT_EQ(reader.strings(name).has_value(), name == "l") << name;
    EXPECT_EQ(reader.decimals(name).has_value(), name == "l") << name;
    EXPECT_EQ(reader.string(name).has_value(), name == "s") << name;
    EXPECT_EQ(reader.boolean(name).has_value(), name == "b") << name;
    EXPECT_EQ(reader.integer(name, 0, 9).has_value(), name == "n") << name;
    EXPECT_EQ(reader.unsigned64(name).has_value(), name == "n") << name;
    EXPECT_FALSE(reader.decimal(name)) << name;
    EXPECT_FALSE(reader.expect(name, "y")) << name;
    EXPECT_EQ(reader.expect(name, "x").has_value(), name == "s") << name;
    EXPECT_EQ(ObjectReader::open(*it, "").has_value(), name == "o") << name;
  }
}

TEST(ObjectReader, IntegersKeepTheirBounds) {
  const auto read = [](const Json& value, std::int64_t low, std::int64_t high) {
    const Json json{{"n", value}};
    return ObjectReader::open(json, "")->integer("n", low, high);
  };
  for (const int good : {-2, 0, 3}) EXPECT_EQ(read(good, -2, 3).value(), good);
  for (const int bad : {-3, 4}) EXPECT_FALSE(read(bad, -2, 3)) << bad;
  EXPECT_EQ(read(INT64_MAX, INT64_MIN, INT64_MAX).value(), INT64_MAX);
  EXPECT_EQ(read(INT64_MIN, INT64_MIN, INT64_MAX).value(), INT64_MIN);
  EXPECT_FALSE(read(std::uint64_t{1} << 63, INT64_MIN, INT64_MAX));
  EXPECT_FALSE(read(UINT64_MAX, INT64_MIN, INT64_MAX));
}

TEST(ObjectReader, SizesAreNotBelowZero) {
  const auto read = [](const Json& value) {
    const Json json{{"n", value}};
    return ObjectReader::open(json, "")->unsigned64("n");
  };
  EXPECT_EQ(read(0).value(), 0u);
  EXPECT_EQ(read(0u).value(), 0u);
  EXPECT_EQ(read("0").value(), 0u);
  EXPECT_EQ(read(1).value(), 1u);
  EXPECT_EQ(read(UINT64_MAX).value(), UINT64_MAX);
  EXPECT_FALSE(read(-1));
  EXPECT_FALSE(read(INT64_MIN));
  EXPECT_FALSE(read(1.0));
}

TEST(ObjectReader, FractionsAreFiniteAndNotBelowZero) {
  const auto read = [](const char* text) {
    const Json json{{"f", text}};
    return ObjectReader::open(json, "")->decimal("f");
  };
  for (const auto& [text, value] : {std::pair("0", 0.0), {"0.5", 0.5}, {"12", 12.0}, {"1e-3", 0.001}})
    EXPECT_EQ(read(text).value(), value) << text;
  for (const char* bad : {"", "x", "1x", "1 ", " 1", "+1", "0x1", "-1", "-0.5", "-1e-9", "1e400", "-1e400",
                          "inf", "-inf", "infinity", "nan", "-nan"}) {
    const auto refused = read(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(refused.error().message.starts_with("f: ")) << refused.error().message;
  }
}

TEST(ObjectReader, ListsNameTheElementThatIsWrong) {
  const Json json{{"fractions", {"0.5", "2"}},
                  {"bad", {"1", "0.25", "x"}},
                  {"mixed", {"a", 1}},
                  {"nulls", Json::array({nullptr})},
                  {"lists", Json::array({Json::array()})}};
  ObjectReader reader = ObjectReader::open(json, "spec").value();
  EXPECT_EQ(reader.decimals("fractions").value(), (std::vector<double>{0.5, 2}));
  EXPECT_TRUE(reader.decimals("bad").error().message.starts_with("spec.bad[2]: "));
  EXPECT_EQ(reader.strings("bad").value(), (std::vector<std::string>{"1", "0.25", "x"}));
  EXPECT_EQ(reader.strings("mixed").error().message, "spec.mixed[1]: must be a string");
  EXPECT_EQ(reader.strings("nulls").error().message, "spec.nulls[0]: must be a string");
  EXPECT_FALSE(reader.strings("lists"));
}

TEST(ObjectReader, RefusesUnknownMembers) {
  Json json{{"a", 1}, {"typo", 2}};
  ObjectReader reader = ObjectReader::open(json, "").value();
  ASSERT_TRUE(reader.integer("a", 0, 9));
  EXPECT_EQ(reader.finish().error().message, "typo: unknown member");
}

TEST(ObjectReader, DecimalsHaveOneSpelling) {
  for (const char* bad : {"", "-1", "+1", "01", "1.0", " 1", "18446744073709551616", "0x1"}) {
    Json json{{"n", bad}};
    EXPECT_FALSE(ObjectReader::open(json, "")->unsigned64("n")) << bad;
  }
  EXPECT_EQ(parseSignedDecimal("-9223372036854775808").value(), INT64_MIN);
  EXPECT_EQ(parseSignedDecimal("9223372036854775807").value(), INT64_MAX);
  EXPECT_EQ(parseDecimal("18446744073709551615").value(), UINT64_MAX);
  EXPECT_EQ(parseDecimal("0").value(), 0u);
  for (const char* bad :
       {"-0", "-01", "--1", "1-", "9223372036854775808", "-9223372036854775809", "", "0 ", "x"})
    EXPECT_FALSE(parseSignedDecimal(bad)) << bad;
  for (const char* bad : {"00", "0x", "0.", "1,000", "1e3", "x", "-0", "99999999999999999999"})
    EXPECT_FALSE(parseDecimal(bad)) << bad;
  EXPECT_FALSE(parseDecimal(std::string_view("1\0", 2)));
}

TEST(ObjectReader, DigestsNeedTheirPrefix) {
  std::string hex(64, 'a');
  Json good{{"digest", "sha256:" + hex}, {"size", "5"}}, bare{{"digest", hex}, {"size", 5}};
  EXPECT_EQ(ObjectReader::open(good, "")->digest()->size, 5u);
  EXPECT_FALSE(ObjectReader::open(bare, "")->digest());
  for (const std::string& bad :
       {"sha256:" + hex.substr(1), "sha256:" + hex + "a", "sha256:" + hex.substr(1) + "G",
        "sha256:" + hex.substr(1) + "A", "sha512:" + hex, std::string("sha256:")}) {
    const Json json{{"digest", bad}, {"size", "5"}};
    const auto refused = ObjectReader::open(json, "a")->digest();
    ASSERT_FALSE(refused) << bad;
    EXPECT_TRUE(refused.error().message.starts_with("a.digest: ")) << refused.error().message;
  }
  for (const Json& size : {Json(-1), Json("x"), Json(nullptr)}) {
    const Json json{{"digest", good["digest"]}, {"size", size}};
    EXPECT_FALSE(ObjectReader::open(json, "")->digest()) << size;
  }
  EXPECT_FALSE(ObjectReader::open({{"digest", good["digest"]}}, "")->digest()) << "without a size";
}

}  // namespace
}  // namespace kiln
