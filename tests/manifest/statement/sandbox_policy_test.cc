#include "manifest/statement/sandbox_policy.h"

#include <gtest/gtest.h>

#include "tests/support/sample_policy.h"

namespace kiln {
namespace {

using testing_support::samplePolicy;

Result<StatedPolicy> read(const Json& json) {
  return readSandboxPolicy(toCanonicalJson(json).value());
}

TEST(SandboxPolicy, SaysWhatItGives) {
  const auto plain = read(samplePolicy("compile/1"));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->name, "compile/1");
  EXPECT_FALSE(plain->network || plain->proc || plain->gpu);
  Json more = samplePolicy("gpu-check/1");
  more["network"] = more["proc"] = more["gpu"] = true;
  more["ofALaterRelease"] = {1, 2};
  const auto wide = read(more);
  ASSERT_TRUE(wide) << wide.error().message;
  EXPECT_TRUE(wide->network && wide->proc && wide->gpu);
}

// Without any of its members, or with another type in it, it is no policy.
TEST(SandboxPolicy, EveryMemberIsWanted) {
  const Json whole = samplePolicy("compile/1");
  for (const auto& [name, value] : whole.items()) {
    Json without = whole, other = whole;
    without.erase(name);
    other[name] = Json::object({{"another", "type"}});
    EXPECT_FALSE(read(without)) << name;
    EXPECT_FALSE(read(other)) << name;
  }
  for (const auto& [name, value] : whole["limits"].items()) {
    Json without = whole, other = whole;
    without["limits"].erase(name);
    other["limits"][name] = "-1";
    EXPECT_FALSE(read(without)) << name;
    EXPECT_FALSE(read(other)) << name;
  }
}

TEST(SandboxPolicy, AClustersDocumentIsOfItsOwnKind) {
  const Json cluster = ClusterSandbox{"c.example:443", "main", {{"OSFamily", "linux"}}}.toJson();
  const auto stated = read(cluster);
  ASSERT_TRUE(stated) << stated.error().message;
  EXPECT_FALSE(stated->own);
  EXPECT_EQ(stated->name, "reapi-cluster/1");
  EXPECT_TRUE(read(samplePolicy("compile/1"))->own);
  for (const auto& [name, value] : cluster.items()) {
    Json without = cluster, other = cluster;
    without.erase(name);
    other[name] = 1;
    EXPECT_FALSE(read(without)) << name;
    EXPECT_FALSE(read(other)) << name;
  }
  for (const char* change : {R"({"more":1})", R"({"address":""})", R"({"name":"compile/2"})",
                             R"({"platform":{"a":1}})", R"({"platform":{"":"x"}})"}) {
    Json other = cluster;
    other.update(Json::parse(change));
    EXPECT_FALSE(read(other)) << change;
  }
}

TEST(SandboxPolicy, WhoseItIsStandsInItsKind) {
  const auto whose = [](const Json& json) { return foreignSandbox(toCanonicalJson(json).value()); };
  EXPECT_EQ(whose(samplePolicy("compile/1")).value(), "");
  EXPECT_EQ(whose(ClusterSandbox{"c:1", "", {}}.toJson()).value(), "reapi-cluster/1");
  EXPECT_FALSE(whose({{"kind", "ClusterSandbox"}}));
  EXPECT_FALSE(whose({{"kind", "Another"}}));
  EXPECT_FALSE(whose(Json::object()));
  EXPECT_FALSE(foreignSandbox("the manifest, say"));
}

// A document that merely calls itself Kiln's proves nothing: it must say all that Kiln's own says.
TEST(SandboxPolicy, WhatCannotBeReadIsNotKilns) {
  const auto whose = [](const Json& json) { return foreignSandbox(toCanonicalJson(json).value()).value(); };
  const Json whole = samplePolicy("compile/1");
  Json later = whole;
  later["ofALaterRelease"] = true;
  EXPECT_EQ(whose(later), "");
  EXPECT_EQ(whose({{"kind", "SandboxPolicy"}, {"name", "compile/1"}}), kUnknownSandbox);
  for (const auto& [name, value] : whole.items()) {
    if (name == "kind") continue;
    Json without = whole, other = whole;
    without.erase(name);
    other[name] = Json::object({{"another", "type"}});
    EXPECT_EQ(whose(without), kUnknownSandbox) << name;
    EXPECT_EQ(whose(other), kUnknownSandbox) << name;
  }
}

TEST(SandboxPolicy, NoNamespaceIsLeftOutAndNobodyIsRoot) {
  for (int i = 0; i < 7; ++i) {
    Json policy = samplePolicy("compile/1");
    policy["namespaces"].erase(static_cast<std::size_t>(i));
    EXPECT_FALSE(read(policy)) << i;
  }
  for (const char* id : {"uid", "gid"}) {
    Json policy = samplePolicy("compile/1");
    policy[id] = 0;
    EXPECT_FALSE(read(policy)) << id;
  }
}

TEST(SandboxPolicy, ListsAreSortedAndTheFormIsCanonical) {
  for (const char* list : {"calls", "devices"}) {
    Json policy = samplePolicy("compile/1");
    policy[list] = {"b", "a"};
    EXPECT_FALSE(read(policy)) << list;
    policy[list] = {"a", "a"};
    EXPECT_FALSE(read(policy)) << list;
  }
  EXPECT_FALSE(readSandboxPolicy(samplePolicy("compile/1").dump(2)));
  for (const char* text : {"", "{}", "policy",
                           "\x7f"
                           "ELF"})
    EXPECT_FALSE(readSandboxPolicy(text)) << text;
}

}  // namespace
}  // namespace kiln
