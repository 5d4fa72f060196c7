#include "api/node/fixtures.h"

#include <gtest/gtest.h>

#include <random>

namespace kiln::node {
namespace {

TEST(Fixtures, TheListIsSortedAndReadBack) {
  const auto text = fixtureList({{"b/x.npy", digestOf("b")}, {"a.json", digestOf("a")}});
  EXPECT_EQ(text, digestOf("a").hex() + "  a.json\n" + digestOf("b").hex() + "  b/x.npy\n");
  const auto digests = parseFixtureList(text);
  ASSERT_TRUE(digests);
  EXPECT_EQ(digests->at("b/x.npy"), digestOf("b").hex());
}

TEST(Fixtures, OtherListsAreRefused) {
  const auto hex = digestOf("a").hex();
  for (const auto& text :
       {hex + "  a", hex + " a\n", hex + "  \n", hex + "  ../a\n", hex + "  /a\n", std::string("\n"),
        hex.substr(1) + "  a\n", hex + "  a\n" + hex + "  a\n", "G" + hex.substr(1) + "  a\n"}) {
    const auto digests = parseFixtureList(text);
    ASSERT_FALSE(digests) << text;
    EXPECT_EQ(digests.error().code, Code::kDataLoss);
  }
}

TEST(Fixtures, SurvivesMutatedLists) {
  const auto seed = fixtureList({{"b/x.npy", digestOf("b")}, {"a.json", digestOf("a")}});
  std::mt19937 random(11);
  for (int i = 0; i < 20000; ++i) {
    auto text = seed.substr(0, random() % (seed.size() + 1));
    if (!text.empty()) text[random() % text.size()] = static_cast<char>(random());
    (void)parseFixtureList(text);
  }
}

}  // namespace
}  // namespace kiln::node
