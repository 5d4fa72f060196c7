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
  return AccessRules::parse(document().dump(), {.read = keySet}).value();
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
  const auto parsed = AccessRules::parse(json.dump(), {.read = keySet});
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
  for (const char* everybody :
       {"*", "*:ref:refs/heads/main", "r*", "repo*", "repo:*", "repo:acme*", "repo:*/model", "project_path:*",
        "organization:a*", "org/*", "system:serviceaccount:*"})
    expectRefused(with("/grants/3/token/subject", everybody), "must name an owner before");
  expectRefused(with("/tokenIssuers/0/jwks", "missing.json"), "missing.json: no such file");
  expectRefused(with("/tokenIssuers/0/audience", ""), "must not be empty");
  Json twice = document();
  twice["tokenIssuers"].push_back(twice["tokenIssuers"][0]);
  expectRefused(twice, "is there twice");
}

AccessRules withToken(const Json& token, const char* name = nullptr) {
  Json json = document();
  json["grants"][3]["token"] = token;
  if (name) json["grants"][3]["name"] = name;
  return AccessRules::parse(json.dump(), {.read = keySet}).value();
}

TEST(AccessRules, AllConditionsOnClaimsMustHold) {
  const AccessRules r = withToken(
      {{"issuer", "https://ci.example.org"},
       {"claims", {{"repository", "acme/model"}, {"ref", "refs/heads/release-*"}, {"environment", "*"}}}},
      "releases");
  TokenHolder who{"https://ci.example.org",
                  "anything",
                  {{"repository", "acme/model"}, {"ref", "refs/heads/release-2"}, {"environment", "prod"}}};
  EXPECT_EQ(r.rolesOf(who, "a"), Roles{Role::kSubmitter});
  EXPECT_TRUE(r.rolesOf(who, "b").empty());
  EXPECT_EQ(r.grantFor(who, {Role::kSubmitter, Role::kAdmin}, "a"), "releases");
  EXPECT_EQ(r.grantFor(who, {Role::kAdmin}, "a"), "");
  EXPECT_THAT(r.instancesOf(who).names, ElementsAre("a"));
  const auto unmetOf = [&](const char* claim, const std::string& value) {
    TokenHolder other = who;
    other.claims[claim] = value;
    EXPECT_TRUE(r.rolesOf(other, "a").empty()) << claim << value;
    EXPECT_TRUE(r.rolesAnywhere(other).empty()) << claim << value;
    EXPECT_TRUE(r.instancesOf(other).empty()) << claim << value;
    const auto verdicts = r.explain(other);
    return verdicts.size() == 1 ? verdicts[0].grant->name + ": " + verdicts[0].unmet : "";
  };
  EXPECT_EQ(unmetOf("ref", "refs/heads/main"),
            "releases: ref is \"refs/heads/main\" and not \"refs/heads/release-*\"");
  EXPECT_THAT(unmetOf("repository", "acme/model2"), HasSubstr("repository is"));
  EXPECT_THAT(unmetOf("repository", "Acme/model"), HasSubstr("repository is"));
  // What would write on a terminal or into a log is met by nothing, and shown as nothing.
  for (const char* hostile :
       {"refs/heads/release-\x1b[2J", "refs/heads/release-\n", "refs/heads/release-\u202e"})
    EXPECT_EQ(unmetOf("ref", hostile), "releases: ref has a control character, or one that cannot be seen");
  EXPECT_THAT(unmetOf("ref", "refs/heads/release-" + std::string(1024, 'x')), HasSubstr("longer than 1024"));
  // Missing is not empty, and not "*" either.
  TokenHolder without = who;
  without.claims.erase("environment");
  EXPECT_TRUE(r.rolesOf(without, "a").empty());
  EXPECT_EQ(r.explain(without)[0].unmet, "the token has no claim environment that is a text");
  EXPECT_TRUE(r.explain({"https://other.example.org", "x", who.claims}).empty());
}

TEST(AccessRules, SubjectAndClaimsHoldTogether) {
  const AccessRules r = withToken({{"issuer", "https://ci.example.org"},
                                   {"subject", "repo:acme/*"},
                                   {"claims", {{"ref", "refs/heads/main"}}}});
  const std::map<std::string, std::string> onMain{{"ref", "refs/heads/main"}};
  EXPECT_FALSE(r.rolesOf(TokenHolder{"https://ci.example.org", "repo:acme/m", onMain}, "a").empty());
  EXPECT_TRUE(r.rolesOf(TokenHolder{"https://ci.example.org", "repo:evil/m", onMain}, "a").empty());
  EXPECT_TRUE(r.rolesOf(TokenHolder{"https://ci.example.org", "repo:acme/m"}, "a").empty());
  EXPECT_EQ(r.explain({"https://ci.example.org", "repo:evil/m", onMain})[0].unmet,
            "the subject is \"repo:evil/m\" and not \"repo:acme/*\"");
  EXPECT_EQ(r.explain({"https://ci.example.org", "x"})[0].grant->name, "grants[3]");
}

// On an issuer that serves everybody, a branch and an environment are words that anybody may choose.
TEST(AccessRules, ClaimsMustSayWhoseTheyAre) {
  const auto with = [](const Json& claims) {
    Json json = document();
    json["grants"][3]["token"] = {{"issuer", "https://ci.example.org"}, {"claims", claims}};
    return json;
  };
  const char* whose = "must say whose pipelines are meant";
  expectRefused(with({{"ref", "refs/heads/main"}}), whose);
  expectRefused(with({{"environment", "prod"}, {"actor", "alice"}}), whose);
  for (const char* pattern : {"*", "acme*", "*/model", "/*"})
    expectRefused(with({{"repository", pattern}}), whose);
  for (const char* pattern : {"acme/model", "acme/*", "acme/model-*"})
    EXPECT_TRUE(AccessRules::parse(with({{"repository", pattern}}).dump(), {.read = keySet})) << pattern;
  EXPECT_TRUE(AccessRules::parse(with({{"repository_owner_id", "4711"}}).dump(), {.read = keySet}));
  EXPECT_TRUE(AccessRules::parse(with({{"project_path", "acme/model"}}).dump(), {.read = keySet}));
  expectRefused(with(Json::object()), "must have 1 to 16 claims");
  expectRefused(with({{"sub", "x"}}), "is judged for every token");
  expectRefused(with({{"aud", "x"}}), "is judged for every token");
  expectRefused(with({{"repository_id", 4711}}), "grants[3].token.claims.repository_id");
  expectRefused(with({{"repository", ""}}), "must have 1 to 512 bytes");
  expectRefused(with({{"repository", std::string(513, 'x')}}), "must have 1 to 512 bytes");
  expectRefused(with({{std::string(129, 'x'), "x"}}), "is no name of a claim");
  Json many = Json::object();
  for (int i = 0; i < 17; ++i) many["c" + std::to_string(i)] = "x";
  expectRefused(with(many), "must have 1 to 16 claims");
  Json named = document();
  named["grants"][0]["name"] = "two words";
  expectRefused(named, "grants[0].name");
}

TEST(AccessRules, DiscoveryWantsAnAddress) {
  const auto with = [](const std::string& issuer, const Json& discovery) {
    Json json = document();
    json["grants"].erase(3);
    json["tokenIssuers"][0] = {{"issuer", issuer}, {"audience", {"a", "b"}}, {"discovery", discovery}};
    return json;
  };
  const auto good =
      AccessRules::parse(with("https://ci.example.org/x", Json::object()).dump(), {.read = keySet});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_THAT(good->tokenIssuers()[0].audiences, ElementsAre("a", "b"));
  EXPECT_FALSE(good->tokenIssuers()[0].discovery->loopbackHttp);
  for (const char* bad :
       {"http://ci.example.org", "http://127.0.0.1:1", "ftp://ci.example.org", "ci.example.org",
        "https://user@ci.example.org", "https://user:x@ci.example.org", "https://ci.example.org#x",
        "https://ci.example.org?x", "https://", "https://ci.example.org/\n",
        "https://ci.example.org\\@evil.example.org", "file:///etc/passwd"})
    expectRefused(with(bad, Json::object()), "access.tokenIssuers[0].issuer");
  const Json plain{{"loopbackHttp", true}};
  EXPECT_TRUE(AccessRules::parse(with("http://127.0.0.1:9400", plain).dump(), {.read = keySet}));
  expectRefused(with("http://127.0.0.1.evil.example.org", plain), "http on a loopback host");
  expectRefused(with("https://ci.example.org", {{"ca", "missing.pem"}}), "missing.pem: no such file");
  expectRefused(with("https://ci.example.org", {{"more", 1}}), "discovery.more");
  Json both = with("https://ci.example.org", Json::object());
  both["tokenIssuers"][0]["jwks"] = "ci.jwks.json";
  expectRefused(both, "or discovery must be there, and one alone");
  Json many = with("https://ci.example.org", Json::object());
  for (int i = 0; i < 16; ++i) {
    Json one = many["tokenIssuers"][0];
    one["issuer"] = "https://ci" + std::to_string(i) + ".example.org";
    many["tokenIssuers"].push_back(one);
  }
  expectRefused(many, "there may be 16");
  Json audience = with("https://ci.example.org", Json::object());
  audience["tokenIssuers"][0]["audience"] = Json::array();
  expectRefused(audience, "must have 1 to 8 audiences");
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
