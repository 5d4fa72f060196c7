#include "manifest/statement/provenance.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/sample_provenance.h"

namespace kiln {
namespace {

using testing_support::sampleProvenance;
using testing_support::sampleSpec;

TEST(Provenance, RoundTripsThroughAStatement) {
  Provenance provenance = sampleProvenance();
  auto text = provenanceStatement(digestOf("artifact"), provenance);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_TRUE(parseCanonicalJson(*text));
  Statement statement = parseStatement(*text).value();
  EXPECT_EQ(statement.predicateType, kProvenanceType);
  ASSERT_EQ(statement.subjects.size(), 1u);
  EXPECT_EQ(statement.subjects[0].sha256, digestOf("artifact").hash);
  EXPECT_EQ(Provenance::fromJson(statement.predicate).value(), provenance);
}

// A statement about builders of Kiln's own sandbox stays as it was; others say whose it was.
TEST(Provenance, ForeignSandboxesAreNamed) {
  Provenance provenance = sampleProvenance();
  const std::string own = provenance.toJson().dump();
  EXPECT_EQ(own.find("\"sandbox\""), std::string::npos);
  provenance.builders[0].sandbox = "reapi-cluster/1";
  provenance.byproducts.push_back(
      {kFixturesByproduct, "", digestOf("f"), {{kSandboxAnnotation, "reapi-cluster/1"}}});
  std::erase_if(provenance.byproducts, [](const Material& one) {
    return one.name == kFixturesByproduct && one.digest != digestOf("f");
  });
  EXPECT_EQ(sampleProvenance().fixturesSandbox(), "");
  EXPECT_EQ(provenance.fixturesSandbox(), "reapi-cluster/1");
  const Json json = provenance.toJson();
  EXPECT_EQ(Provenance::fromJson(json).value(), provenance);
  for (const auto& [name, value] : {std::pair{"sandbox", ""}, {"another", "x"}}) {
    Json other = json;
    other["runDetails"]["byproducts"][0]["annotations"][name] = value;
    EXPECT_FALSE(Provenance::fromJson(other)) << name;
  }
}

TEST(Provenance, TellsOfOneSpec) {
  Provenance provenance = sampleProvenance();
  EXPECT_TRUE(checkAgainstSpec(provenance, sampleSpec()));
  std::vector<std::function<void(CompileSpec&)>> changes{
      [](CompileSpec& s) { s.files[0].digest = digestOf("x"); },
      [](CompileSpec& s) { s.files.pop_back(); },
      [](CompileSpec& s) { s.toolchainDigest = digestOf("x"); },
      [](CompileSpec& s) { s.target = "cpu:x86-64-v4"; },
      [](CompileSpec& s) { s.features.pop_back(); },
      [](CompileSpec& s) { s.profiles[0].name = "x"; },
      [](CompileSpec& s) { s.outOfProfile = "pad"; },
      [](CompileSpec& s) { s.pins.clear(); },
      [](CompileSpec& s) { s.numerics.contraction = "off"; },
      [](CompileSpec& s) { s.fallback = "cpu"; },
      [](CompileSpec& s) { s.maxPlannedBytes = 9; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CompileSpec spec = sampleSpec();
    changes[i](spec);
    EXPECT_FALSE(checkAgainstSpec(provenance, spec)) << "change " << i << " goes unnoticed";
  }
}

TEST(Provenance, ParametersAreCompleteStringsAndKnown) {
  auto damaged = [](const std::function<void(Json&)>& damage) {
    Json json = sampleProvenance().toJson();
    damage(json);
    auto provenance = Provenance::fromJson(json);
    return provenance ? std::string() : provenance.error().message;
  };
  Json none;
  auto parameters = [](Json& j) -> Json& { return j["buildDefinition"]["externalParameters"]; };
  EXPECT_EQ(damaged([&](Json& j) { parameters(j)["flags"] = "-O3"; }),
            "externalParameters: unknown parameter \"flags\"");
  EXPECT_EQ(damaged([&](Json& j) { parameters(j).erase("target"); }),
            "externalParameters: \"target\" is missing");
  EXPECT_NE(damaged([&](Json& j) { parameters(j)["target"] = 3; }).find("must be a string"),
            std::string::npos);
  EXPECT_NE(damaged([&](Json& j) {
              j["buildDefinition"]["internalParameters"]["target"] = "x";
            }).find("external parameter's name"),
            std::string::npos);
  EXPECT_NE(damaged([&](Json& j) { j["buildDefinition"]["buildType"] = "urn:other"; }).find("buildType"),
            std::string::npos);
  EXPECT_NE(damaged([&](Json& j) { j["runDetails"]["extra"] = 1; }).find("runDetails.extra"),
            std::string::npos);
  EXPECT_NE(damaged([&](Json& j) { j["runDetails"]["builder"]["id"] = ""; }).find("builder.id"),
            std::string::npos);
  EXPECT_NE(damaged([&](Json& j) {
              j["runDetails"]["metadata"]["finishedOn"] = "2020-01-01T00:00:00Z";
            }).find("before startedOn"),
            std::string::npos);
  EXPECT_NE(
      damaged([&](Json& j) { j["runDetails"]["metadata"]["startedOn"] = "yesterday"; }).find("startedOn"),
      std::string::npos);
}

TEST(Provenance, FixturesAreNamedOnceAndByDigestAlone) {
  Provenance provenance = sampleProvenance();
  EXPECT_FALSE(provenance.fixtures());
  provenance.byproducts.push_back({kFixturesByproduct, "", digestOf("list"), {}});
  EXPECT_EQ(provenance.fixtures(), digestOf("list"));
  auto back = Provenance::fromJson(provenance.toJson());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, provenance);
  provenance.byproducts.push_back({kFixturesByproduct, "", digestOf("other"), {}});
  EXPECT_NE(Provenance::fromJson(provenance.toJson()).error().message.find("twice"), std::string::npos);
  provenance.byproducts.pop_back();
  provenance.byproducts.back().uri = "https://example.com/fixtures.json";
  EXPECT_FALSE(Provenance::fromJson(provenance.toJson()));
  provenance.byproducts.back() = {kFixturesByproduct, "", digestOf("list"), {{"profile", "default"}}};
  EXPECT_FALSE(Provenance::fromJson(provenance.toJson()));
}

TEST(Provenance, BuildersAreNamedOnce) {
  Provenance provenance = sampleProvenance();
  provenance.builders.push_back(provenance.builders[0]);
  EXPECT_FALSE(provenanceStatement(digestOf("a"), provenance));
  provenance.builders.clear();
  EXPECT_FALSE(provenanceStatement(digestOf("a"), provenance));
}

TEST(Statement, RefusesWhatVerifiersWould) {
  const std::string good = provenanceStatement(digestOf("artifact"), sampleProvenance()).value();
  const std::pair<const char*, std::function<void(Json&)>> cases[] = {
      {"statement._type", [](Json& j) { j["_type"] = "https://in-toto.io/Statement/v0.1"; }},
      {"statement.extra", [](Json& j) { j["extra"] = 1; }},
      {"statement.subject", [](Json& j) { j["subject"] = Json::array(); }},
      {"statement.subject[0].uri", [](Json& j) { j["subject"][0]["uri"] = "x"; }},
      {"statement.subject[0].digest.md5", [](Json& j) { j["subject"][0]["digest"]["md5"] = "x"; }},
      {"statement.subject[0].digest.sha256",
       [](Json& j) { j["subject"][0]["digest"]["sha256"] = std::string(64, 'A'); }},
      {"statement.subject[0].digest.sha256",
       [](Json& j) { j["subject"][0]["digest"]["sha256"] = "sha256:" + std::string(64, 'a'); }},
      {"statement.predicate", [](Json& j) { j["predicate"] = "x"; }},
  };
  for (const auto& [place, damage] : cases) {
    Json json = Json::parse(good);
    damage(json);
    auto statement = parseStatement(json.dump());
    ASSERT_FALSE(statement) << place;
    EXPECT_EQ(statement.error().message.substr(0, statement.error().message.find(": ")), place);
  }
  Json many = Json::parse(good);
  for (int i = 0; i < 1024; ++i) many["subject"].push_back(many["subject"][0]);
  EXPECT_FALSE(parseStatement(many.dump()));
}

}  // namespace
}  // namespace kiln
