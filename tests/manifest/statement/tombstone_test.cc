#include "manifest/statement/tombstone.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kiln {
namespace {

Digest payload(std::string_view text) {
  return {digestOf(text).hash, 0};
}

Tombstone sample() {
  Tombstone out{.builderId = "urn:kiln:builder:test",
                .reason = "the licence ended",
                .issuedOn = parseRfc3339("2026-11-20T06:00:00Z").value(),
                .statements = {payload("one"), payload("two")}};
  std::sort(out.statements.begin(), out.statements.end());
  return out;
}

TEST(Tombstone, RoundTripsAndCoversWhatItNames) {
  Tombstone back = Tombstone::fromJson(sample().toJson()).value();
  EXPECT_EQ(back.toJson(), sample().toJson());
  EXPECT_TRUE(back.covers(digestOf(std::string_view("one"))));
  EXPECT_TRUE(back.covers(payload("two")));
  EXPECT_FALSE(back.covers(payload("three")));
  Statement statement =
      parseStatement(tombstoneStatement(digestOf(std::string_view("a")), sample()).value()).value();
  EXPECT_EQ(statement.predicateType, kTombstoneType);
  EXPECT_EQ(statement.subjects.at(0).sha256, digestOf(std::string_view("a")).hash);
}

TEST(Tombstone, RefusesEveryDamage) {
  const Json good = sample().toJson();
  for (const auto& [name, value] : good.items()) {
    Json bad = good;
    bad.erase(name);
    EXPECT_FALSE(Tombstone::fromJson(bad)) << name;
    bad[name] = 1;
    EXPECT_FALSE(Tombstone::fromJson(bad)) << name;
  }
  auto refuses = [&](const char* name, Json value) {
    Json bad = good;
    bad[name] = std::move(value);
    EXPECT_FALSE(Tombstone::fromJson(bad)) << bad.dump();
  };
  refuses("extra", 1);
  refuses("reason", "");
  refuses("reason", std::string(1001, 'x'));
  refuses("issuedOn", "yesterday");
  refuses("issuer", Json{{"id", ""}});
  refuses("statements", Json::array());
  refuses("statements", Json::array({good["statements"][1], good["statements"][0]}));
  refuses("statements", Json::array({good["statements"][0], good["statements"][0]}));
  refuses("statements", Json::array({good["statements"][0].get<std::string>().substr(7)}));
}

}  // namespace
}  // namespace kiln
