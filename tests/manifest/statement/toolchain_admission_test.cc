#include "manifest/statement/toolchain_admission.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

ToolchainAdmission sample() {
  return {.builderId = "urn:kiln:builder:test",
          .label = "kiln-0.1.0+llvm22.1.8",
          .lock = digestOf("a lock"),
          .admittedOn = parseRfc3339("2026-11-20T06:00:00Z").value()};
}

TEST(ToolchainAdmission, RoundTripsWithAndWithoutALock) {
  ToolchainAdmission back = ToolchainAdmission::fromJson(sample().toJson()).value();
  EXPECT_EQ(back.toJson(), sample().toJson());
  EXPECT_EQ(back.lock, digestOf("a lock"));
  ToolchainAdmission unlocked = sample();
  unlocked.lock.reset();
  EXPECT_FALSE(ToolchainAdmission::fromJson(unlocked.toJson()).value().lock);
  EXPECT_FALSE(back.instance) << "a release that did not say it";
  ToolchainAdmission placed = sample();
  placed.instance = "team-a";
  EXPECT_EQ(ToolchainAdmission::fromJson(placed.toJson()).value().instance, "team-a");
  Statement statement = parseStatement(admissionStatement(digestOf("a tree"), unlocked).value()).value();
  EXPECT_EQ(statement.predicateType, kToolchainType);
  ASSERT_EQ(statement.subjects.size(), 1u);
  EXPECT_EQ(statement.subjects[0].sha256, digestOf("a tree").hash);
}

TEST(ToolchainAdmission, RefusesEveryDamage) {
  for (const char* member : {"issuer", "label", "admittedOn"}) {
    Json json = sample().toJson();
    json.erase(member);
    EXPECT_FALSE(ToolchainAdmission::fromJson(json)) << member;
    json[member] = 1;
    EXPECT_FALSE(ToolchainAdmission::fromJson(json)) << member;
  }
  for (const char* patch :
       {R"({"extra":1})", R"({"label":"a b"})", R"({"label":""})", R"({"issuer":{"id":""}})",
        R"({"lock":"sha256:00"})", R"({"lock":{"digest":"sha256:00","size":"1"}})", R"({"lock":{"extra":1}})",
        R"({"admittedOn":"yesterday"})", R"({"instance":7})", R"({"instance":"a\u001bb"})"}) {
    Json json = sample().toJson();
    json.merge_patch(Json::parse(patch));
    EXPECT_FALSE(ToolchainAdmission::fromJson(json)) << patch;
  }
  Json longer = sample().toJson();
  longer["instance"] = std::string(65, 'a');
  EXPECT_FALSE(ToolchainAdmission::fromJson(longer));
  ToolchainAdmission bad = sample();
  bad.label = "no label";
  EXPECT_FALSE(admissionStatement(digestOf("a tree"), bad)) << "nothing is written that would be refused";
}

}  // namespace
}  // namespace kiln
