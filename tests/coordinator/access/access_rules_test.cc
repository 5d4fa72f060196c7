#include "coordinator/access/access_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/token_factory.h"

namespace kiln::access {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kKey = digestOf("a key").text();

Result<std::string> keySet(const std::string& name) {
  static const std::string text = testing_support::TokenFactory("ES256").jwks();
  if (name == "ci.jwks.json") return text;
  return fail(Code::kNotFound, name + ": no such file");
}

Json document() {
  return parseJson(R"({
    "apiVersion": "kiln/v1", "kind": "Access",
    "tokenIssuers": [{"issuer": "https://ci.example.org", "audience": "kiln", "jwks": "ci.jwks.json"}],
    "grants": [
      {"certificate": {"subject": "CN=alice,O=Example"}, "roles": ["submitter", "auditor"], "instances": ["a", "b"]},
      {"certificate": {"key": ")" +
                   kKey + R"("}, "roles": ["admin"], "instances": ["*"]},
      {"worker": {"name": "w*", "operator": "acme"}, "roles": ["worker"], "instances": ["a"]},
      {"token": {"issuer": "https://ci.example.org", "subject": "repo:acme/*:ref:refs/heads/main"},
       "roles": ["submitter"], "instances": ["a"]}]})")
      .value();
}

AccessRules rules() {
  return AccessRules::parse(document().dump(), keySet).value();
}

TEST(AccessRules, EachKindOfCallerGetsWhatItWasGranted) {
  const AccessRules r = rules();
  const CertificateHolder alice{"CN=alice,O=Example", "sha256:other"};
  EXPECT_EQ(r.rolesOf(alice, "a"), (Roles{Role::kSubmitter, Role::kAuditor}));
  EXPECT_TRUE(r.rolesOf(alice, "c").empty());
  EXPECT_TRUE(r.rolesOf(alice, "*").empty()) << "a grant for some instances is none for the farm";
  EXPECT_TRUE(r.rolesOf(CertificateHolder{"CN=alice,O=Elsewhere", ""}, "a").empty());
  EXPECT_EQ(r.rolesOf(CertificateHolder{"CN=root", kKey}, "any"), Roles{Role::kAdmin});
  EXPECT_EQ(r.rolesOf(CertificateHolder{"CN=root", kKey}, "*"), Roles{Role::kAdmin});
  EXPECT_EQ(r.rolesOf(WorkerHolder{"w7", "acme", ""}, "a"), Roles{Role::kWorker});
  EXPECT_TRUE(r.rolesOf(WorkerHolder{"w7", "other", ""}, "a").empty());
  EXPECT_TRUE(r.rolesOf(WorkerHolder{"x7", "acme", ""}, "a").empty());
  EXPECT_EQ(r.rolesOf(TokenHolder{"https://ci.example.org", "repo:acme/m:ref:refs/heads/main"}, "a"),
            Roles{Role::kSubmitter});
  EXPECT_TRUE(r.rolesOf(TokenHolder{"https://ci.example.org", "repo:acme/m:ref:refs/heads/x"}, "a").empty());
  EXPECT_TRUE(r.rolesOf(TokenHolder{"https://evil.org", "repo:acme/m:ref:refs/heads/main"}, "a").empty());
  for (Role role : kEveryRole) EXPECT_TRUE(r.rolesOf(LocalUser{}, "any").has(role));
}

// Whoever is named by one kind of proof is nobody by another, whatever the names.
TEST(AccessRules, AWorkerIsNeverAPersonOfTheSameName) {
  const AccessRules r = rules();
  EXPECT_TRUE(r.rolesOf(WorkerHolder{"CN=alice,O=Example", "", kKey}, "a").empty());
  EXPECT_TRUE(r.rolesOf(CertificateHolder{"CN=w1,O=acme", ""}, "a").empty());
  EXPECT_TRUE(r.rolesOf(TokenHolder{"https://ci.example.org", "CN=alice,O=Example"}, "a").empty());
}

TEST(AccessRules, InstancesOfAWorker) {
  const AccessRules r = rules();
  EXPECT_THAT(r.instancesOf(WorkerHolder{"w1", "acme", ""}, Role::kWorker).names, ElementsAre("a"));
  EXPECT_TRUE(r.instancesOf(WorkerHolder{"w1", "x", ""}, Role::kWorker).empty());
  EXPECT_TRUE(r.instancesOf(CertificateHolder{"", kKey}, Role::kAdmin).all);
  EXPECT_TRUE(r.instancesOf(LocalUser{}, Role::kWorker).all);
  EXPECT_TRUE(AccessRules().instancesOf(WorkerHolder{"w1", "acme", ""}, Role::kWorker).empty());
}

void expectRefused(const Json& json, const std::string& why) {
  const auto parsed = AccessRules::parse(json.dump(), keySet);
  ASSERT_FALSE(parsed) << why;
  EXPECT_THAT(parsed.error().message, HasSubstr(why));
}

TEST(AccessRules, BadFilesAreRefusedWithThePlace) {
  const auto with = [](const char* pointer, const Json& value) {
    Json json = document();
    json[Json::json_pointer(pointer)] = value;
    return json;
  };
  expectRefused(with("/kind", "Policy"), "access.kind");
  expectRefused(with("/more", 1), "access.more");
  expectRefused(with("/grants/0/more", 1), "access.grants[0].more");
  expectRefused(with("/grants/0/certificate/key", kKey), "access.grants[0].certificate.subject");
  expectRefused(with("/grants/0/worker", Json::object()), "one alone");
  expectRefused(with("/grants/0/roles", Json::array()), "must name a role");
  expectRefused(with("/grants/0/roles/0", "root"), "there are submitter, auditor");
  expectRefused(with("/grants/0/roles/0", "worker"), "the role worker is for");
  expectRefused(with("/grants/2/roles/0", "admin"), "a worker has no other");
  expectRefused(with("/grants/0/instances", Json::array()), "must name an instance");
  for (const std::string& name : {std::string("default\0", 8), std::string("a\nb"), std::string("a\u202eb")})
    expectRefused(with("/grants/0/instances/0", name), "grants[0].instances: instance name");
  expectRefused(with("/grants/1/certificate/key", "abc"), "SubjectPublicKeyInfo");
  expectRefused(with("/grants/3/token/issuer", "https://x"), "none of tokenIssuers");
  expectRefused(with("/grants/3/token/subject", "*"), "must not begin with");
  expectRefused(with("/tokenIssuers/0/jwks", "missing.json"), "missing.json: no such file");
  expectRefused(with("/tokenIssuers/0/audience", ""), "must not be empty");
  Json twice = document();
  twice["tokenIssuers"].push_back(twice["tokenIssuers"][0]);
  expectRefused(twice, "is there twice");
}

TEST(AccessRules, GoldenFileIsRead) {
  const auto golden = AccessRules::load(KILN_GOLDEN "/v1/access.json");
  ASSERT_TRUE(golden) << golden.error().message;
  EXPECT_EQ(golden->rolesOf(TokenHolder{"https://ci.example.org", "repo:acme/digits:ref:refs/heads/main"},
                            "vision"),
            Roles{Role::kSubmitter});
}

}  // namespace
}  // namespace kiln::access
