#include "signing/trust/trust_root.h"

#include <gtest/gtest.h>

#include <functional>

#include "signing/keys/files.h"
#include "tests/support/full_root.h"
#include "tests/support/temp_directory.h"

namespace kiln::signing {
namespace {

const TimePoint kNow = parseRfc3339("2026-11-20T06:00:00Z").value();

struct TrustRootTest : ::testing::Test {
  PrivateKey key = PrivateKey::create().value();
  TrustRoot root = developmentRoot(key.publicKey(), "urn:b", kNow);
};

TEST_F(TrustRootTest, RoundTrips) {
  std::string text = toCanonicalJson(root.toJson()).value();
  TrustRoot back = TrustRoot::parse(text).value();
  EXPECT_EQ(toCanonicalJson(back.toJson()).value(), text);
  EXPECT_TRUE(back.development);
  EXPECT_TRUE(back.checkSigner(key.publicKey().id(), "urn:b", kNow));
  EXPECT_NE(back.findKey(key.publicKey().id()), nullptr);
  EXPECT_EQ(back.findKey("other"), nullptr);
}

TEST_F(TrustRootTest, RefusesEveryDamage) {
  using Damage = std::function<void(Json&)>;
  const std::string otherSpki = toBase64(asBytes(PrivateKey::create()->publicKey().der()));
  const std::pair<const char*, Damage> cases[] = {
      {"root.extra", [](Json& j) { j["extra"] = 1; }},
      {"root.kind", [](Json& j) { j["kind"] = "Policy"; }},
      {"root.development", [](Json& j) { j["development"] = "yes"; }},
      {"root.version", [](Json& j) { j["version"] = 0; }},
      {"root.expires", [](Json& j) { j["expires"] = "2026-13-01T00:00:00Z"; }},
      {"root.keys[0].keyid", [&](Json& j) { j["keys"][0]["spki"] = otherSpki; }},
      {"root.keys[0].spki", [](Json& j) { j["keys"][0]["spki"] = "AAAA"; }},
      {"root.keys[0].validUntil", [](Json& j) { j["keys"][0]["validUntil"] = j["keys"][0]["validFrom"]; }},
      {"root.keys[1]", [](Json& j) { j["keys"].push_back(j["keys"][0]); }},
      {"root.builders[0].keys", [](Json& j) { j["builders"][0]["keys"] = Json::array(); }},
      {"root.builders[0].keys", [](Json& j) { j["builders"][0]["keys"] = {"unknown"}; }},
      {"root.builders[0].keys",
       [](Json& j) { j["builders"][0]["keys"].push_back(j["builders"][0]["keys"][0]); }},
      {"root.builders[1]", [](Json& j) { j["builders"].push_back(j["builders"][0]); }},
  };
  for (const auto& [place, damage] : cases) {
    Json json = root.toJson();
    damage(json);
    auto parsed = TrustRoot::parse(json.dump());
    ASSERT_FALSE(parsed) << place;
    EXPECT_EQ(parsed.error().message.substr(0, parsed.error().message.find(": ")), place)
        << parsed.error().message;
  }
}

TEST_F(TrustRootTest, RefusesEveryDamageToItsRoles) {
  using Damage = std::function<void(Json&)>;
  const Json good = testing_support::fullRoot(key).toJson();
  ASSERT_TRUE(TrustRoot::parse(good.dump()));
  EXPECT_EQ(TrustRoot::parse(good.dump())->toJson(), good);
  const std::pair<const char*, Damage> cases[] = {
      {"root.rootKeys.threshold", [](Json& j) { j["rootKeys"]["threshold"] = 2; }},
      {"root.rootKeys.threshold", [](Json& j) { j["rootKeys"]["threshold"] = 0; }},
      {"root.rootKeys.keys", [](Json& j) { j["rootKeys"]["keys"] = Json::array(); }},
      {"root.rootKeys.keys[1]",
       [](Json& j) {
         for (int i = 0; i < 2; ++i) j["rootKeys"]["keys"].push_back(j["rootKeys"]["keys"][0]);
       }},
      {"root.recallKeys.wideThreshold", [](Json& j) { j["recallKeys"]["wideThreshold"] = 2; }},
      {"root.recallKeys.scope", [](Json& j) { j["recallKeys"]["scope"] = -1; }},
      {"root.logs[0].spki", [&](Json& j) { j["logs"][0]["spki"] = j["keys"][0]["spki"]; }},
      {"root.logs[0].keyid", [&](Json& j) { j["logs"][0]["keyid"] = j["keys"][0]["keyid"]; }},
      {"root.logs[0].origin", [](Json& j) { j["logs"][0]["origin"] = ""; }},
      {"root.logs[1]", [](Json& j) { j["logs"].push_back(j["logs"][0]); }},
      {"root.witnesses[0].spki", [&](Json& j) { j["witnesses"][0]["spki"] = "AAAA"; }},
      {"root.revocations[0].keyid", [](Json& j) { j["revocations"][0]["keyid"] = "unknown"; }},
      {"root.revocations[0].logs[0].size", [](Json& j) { j["revocations"][0]["logs"][0]["size"] = "-1"; }},
      {"root.revocations[1]", [](Json& j) { j["revocations"].push_back(j["revocations"][0]); }},
  };
  for (const auto& [place, damage] : cases) {
    Json json = good;
    damage(json);
    auto parsed = TrustRoot::parse(json.dump());
    ASSERT_FALSE(parsed) << place;
    EXPECT_EQ(parsed.error().message.substr(0, parsed.error().message.find(": ")), place)
        << parsed.error().message;
  }
}

TEST_F(TrustRootTest, ARoleHasOneToEightKeys) {
  const Json good = testing_support::fullRoot(key).toJson();
  Json keys = Json::array();
  for (int count = 0; count <= 9; ++count) {
    for (const char* role : {"rootKeys", "recallKeys"}) {
      Json json = good;
      json[role]["keys"] = keys;
      const auto parsed = TrustRoot::parse(json.dump());
      ASSERT_EQ(parsed.has_value(), count >= 1 && count <= 8) << count << " " << role;
      if (!parsed) {
        EXPECT_EQ(parsed.error().message, std::string("root.") + role + ".keys: must hold 1 to 8 keys");
        continue;
      }
      for (const int threshold : {0, 1, count, count + 1}) {
        json[role]["threshold"] = threshold;
        if (json[role].contains("wideThreshold")) json[role]["wideThreshold"] = count;
        EXPECT_EQ(TrustRoot::parse(json.dump()).has_value(), threshold >= 1 && threshold <= count)
            << threshold << " of " << count << " " << role;
      }
    }
    const std::string spki = PrivateKey::create()->publicKey().der();
    keys.push_back({{"keyid", toBase64(digestOf(spki).hash)}, {"spki", toBase64(asBytes(spki))}});
  }
}

TEST_F(TrustRootTest, WideRecallsWantNoFewerKeysThanOthers) {
  TrustRoot full = testing_support::fullRoot(key);
  for (int i = 0; i < 2; ++i) full.recallKeys->issuers.keys.push_back(PrivateKey::create()->publicKey());
  full.recallKeys->issuers.threshold = 2;
  for (const int wide : {1, 2, 3, 4}) {
    full.recallKeys->wideThreshold = wide;
    const auto parsed = TrustRoot::parse(full.toJson().dump());
    ASSERT_EQ(parsed.has_value(), wide == 2 || wide == 3) << wide;
    if (parsed) EXPECT_EQ(parsed->recallKeys->wideThreshold, wide);
  }
  full.recallKeys->wideThreshold = 2;
  for (const auto& [scope, ok] : {std::pair(-1, false), {0, true}, {1'000'000, true}, {1'000'001, false}}) {
    full.recallKeys->scope = scope;
    EXPECT_EQ(TrustRoot::parse(full.toJson().dump()).has_value(), ok) << scope;
  }
}

TEST_F(TrustRootTest, NamesHaveOneTo1000Bytes) {
  const Json good = testing_support::fullRoot(key).toJson();
  const std::pair<const char*, Json::json_pointer> names[] = {
      {"root.logs[0].origin", Json::json_pointer("/logs/0/origin")},
      {"root.witnesses[0].name", Json::json_pointer("/witnesses/0/name")},
      {"root.revocations[0].reason", Json::json_pointer("/revocations/0/reason")},
      {"root.revocations[0].logs[0].origin", Json::json_pointer("/revocations/0/logs/0/origin")}};
  for (const auto& [place, member] : names) {
    for (const std::size_t size : {0u, 1u, 1000u, 1001u}) {
      Json json = good;
      json[member] = std::string(size, 'x');
      const auto parsed = TrustRoot::parse(json.dump());
      ASSERT_EQ(parsed.has_value(), size == 1 || size == 1000) << place << " of " << size;
      if (!parsed) EXPECT_EQ(parsed.error().message, std::string(place) + ": must have 1 to 1000 bytes");
    }
  }
}

TEST_F(TrustRootTest, AFlippedBitNeverAddsAKeyOrABuilder) {
  const std::string text = toCanonicalJson(root.toJson()).value();
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(TrustRoot::parse(text.substr(0, i)));
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    auto parsed = TrustRoot::parse(bad);
    if (!parsed) continue;
    ASSERT_EQ(parsed->keys.size(), 1u);
    EXPECT_EQ(parsed->keys[0].key.id(), key.publicKey().id()) << i;
  }
}

TEST_F(TrustRootTest, FilesAreNamedInErrors) {
  testing_support::TempDirectory directory;
  EXPECT_EQ(TrustRoot::load(directory / "root.json").error().code, Code::kNotFound);
  ASSERT_TRUE(writeTextFile(directory / "root.json", "{}"));
  EXPECT_NE(TrustRoot::load(directory / "root.json").error().message.find("root.json"), std::string::npos);
}

}  // namespace
}  // namespace kiln::signing
