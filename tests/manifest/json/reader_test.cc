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
  EXPECT_FALSE(parseSignedDecimal("-0"));
}

TEST(ObjectReader, DigestsNeedTheirPrefix) {
  std::string hex(64, 'a');
  Json good{{"digest", "sha256:" + hex}, {"size", "5"}}, bare{{"digest", hex}, {"size", 5}};
  EXPECT_EQ(ObjectReader::open(good, "")->digest()->size, 5u);
  EXPECT_FALSE(ObjectReader::open(bare, "")->digest());
}

}  // namespace
}  // namespace kiln
