#include "coordinator/access/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/support/token_factory.h"

namespace kiln::access {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing_support::toBase64Url;
using testing_support::TokenFactory;

constexpr char kIssuer[] = "https://ci.example.org";

class TokenTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::int64_t seconds(Duration after) const {
    return std::chrono::duration_cast<std::chrono::seconds>((clock_.now() + after).time_since_epoch())
        .count();
  }
  Json claims() const {
    return {{"iss", kIssuer},     {"sub", "repo:acme/model:ref:refs/heads/main"},
            {"aud", "kiln"},      {"iat", seconds({})},
            {"nbf", seconds({})}, {"exp", seconds(std::chrono::minutes(10))},
            {"ratio", 0.5}};
  }
  Result<TokenHolder> verify(const std::string& token) const {
    return verifyToken(token, issuers_, clock_.now());
  }
  void expectRefused(const std::string& token, const std::string& why) const {
    const auto verified = verify(token);
    ASSERT_FALSE(verified) << why;
    EXPECT_EQ(verified.error().code, Code::kUnauthenticated);
    EXPECT_THAT(verified.error().message, HasSubstr(why));
  }
  void expectRefused(const char* claim, const Json& value, const std::string& why) const {
    Json changed = claims();
    changed[claim] = value;
    expectRefused(factory_.token(changed), why);
  }

  testing_support::ManualClock clock_;
  TokenFactory factory_{GetParam()};
  std::vector<TokenIssuer> issuers_{{kIssuer, {"kiln"}, parseJsonWebKeys(factory_.jwks()).value()}};
};

INSTANTIATE_TEST_SUITE_P(Algorithms, TokenTest, ::testing::Values("RS256", "ES256"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(TokenTest, SaysWhoCalls) {
  const auto holder = verify(factory_.token(claims()));
  ASSERT_TRUE(holder) << holder.error().message;
  EXPECT_EQ(holder->issuer, kIssuer);
  EXPECT_EQ(holder->subject, "repo:acme/model:ref:refs/heads/main");
  // Claims of another kind than text are not kept: a grant cannot ask for them.
  EXPECT_THAT(holder->claims, Contains(Pair("aud", "kiln")));
  EXPECT_FALSE(holder->claims.contains("ratio") || holder->claims.contains("exp"));
  Json several = claims();
  several["aud"] = {"other", "kiln"};
  EXPECT_TRUE(verify(factory_.token(several)));
  Json unnamed{{"alg", GetParam()}};
  EXPECT_TRUE(verify(factory_.token(unnamed, claims()))) << "without a kid every key of the issuer is tried";
}

TEST_P(TokenTest, EachClaimIsChecked) {
  expectRefused("iss", "https://evil.example.org", "is not one of this farm's");
  expectRefused("aud", "other", "is not meant for this farm");
  expectRefused("aud", Json::array(), "is not meant for this farm");
  expectRefused("sub", "", "subject is empty");
  expectRefused("sub", std::string(1025, 'x'), "subject is empty or longer");
  for (const std::string& hidden :
       {std::string("repo:acme/\0model", 16), std::string("repo:acme/\n"), std::string("repo:acme/\u200b")})
    expectRefused("sub", hidden, "subject has a control character");
  expectRefused("exp", "tomorrow", "claims.exp");
  expectRefused("exp", 1e12, "claims.exp");
  expectRefused("exp", -1, "claims.exp");
  for (const char* name : {"iss", "sub", "aud", "exp"}) {
    Json without = claims();
    without.erase(name);
    expectRefused(factory_.token(without), std::string("claims.") + name);
  }
}

TEST_P(TokenTest, TimesAreJudgedByTheInjectedClock) {
  const std::string token = factory_.token(claims());
  clock_.advance(-std::chrono::seconds(60));
  EXPECT_TRUE(verify(token)) << "within the leeway";
  clock_.advance(-std::chrono::seconds(1));
  expectRefused(token, "is not valid before");
  clock_.advance(std::chrono::seconds(61) + std::chrono::minutes(10) + std::chrono::seconds(59));
  EXPECT_TRUE(verify(token)) << "within the leeway";
  clock_.advance(std::chrono::seconds(1));
  expectRefused(token, "it expired at");
}

// RFC 8725 3.11: a token of another kind, signed by the same keys, is no proof of who calls.
TEST_P(TokenTest, TokensOfOtherTypesAreRefused) {
  for (const char* type : {"jwt", "JWT", "Jwt"})
    EXPECT_TRUE(verify(factory_.token(Json{{"alg", GetParam()}, {"typ", type}}, claims()))) << type;
  for (const char* type : {"at+jwt", "logout+jwt", "dpop+jwt", "JWE", ""})
    expectRefused(factory_.token(Json{{"alg", GetParam()}, {"typ", type}}, claims()), "its type is");
  expectRefused(factory_.token(Json{{"alg", GetParam()}, {"typ", 1}}, claims()), "header.typ");
}

TEST_P(TokenTest, NothingIsThereTwice) {
  const std::string header = std::string(R"({"alg":")") + GetParam() + R"(","kid":"k1","alg":"none"})";
  expectRefused(toBase64Url(header) + "." + toBase64Url(claims().dump()) + ".AA", "its header is not");
  std::string twice = claims().dump();
  twice.insert(1, R"("sub":"repo:acme/other",)");
  expectRefused(toBase64Url(Json{{"alg", GetParam()}}.dump()) + "." + toBase64Url(twice) + ".AA",
                "its claims is not");
}

TEST_P(TokenTest, ATokenOfTheFutureIsRefused) {
  expectRefused("iat", seconds(std::chrono::seconds(61)), "is not valid before");
  expectRefused("iat", "now", "claims.iat");
  Json soon = claims();
  soon["iat"] = seconds(std::chrono::seconds(60));
  EXPECT_TRUE(verify(factory_.token(soon))) << "within the leeway";
}

TEST_P(TokenTest, OneOfSeveralAudiencesWillDo) {
  issuers_[0].audiences = {"kiln", "https://farm.example.org"};
  Json other = claims();
  other["aud"] = "https://farm.example.org";
  EXPECT_TRUE(verify(factory_.token(other)));
  expectRefused("aud", "https://farm.example.org/", "is not meant for this farm");
}

// As an issuer's that are fetched: which of them is asked for when.
struct CountedKeys final : KeySource {
  KeySet now, later;
  int refreshes = 0;
  KeySet known(const std::string&) const override { return now; }
  KeySet refreshed(const std::string&) override {
    ++refreshes;
    if (later) now = later;
    return now;
  }
};

TEST_P(TokenTest, AnUnknownKeyIsAskedForOnce) {
  issuers_[0].keys.clear();
  issuers_[0].discovery.emplace();
  CountedKeys source;
  const auto set = [](const TokenFactory& of) {
    return std::make_shared<const std::vector<JsonWebKey>>(parseJsonWebKeys(of.jwks()).value());
  };
  const auto verifyNow = [&](const std::string& token) {
    return verifyToken(token, issuers_, clock_.now(), &source);
  };
  const auto away = verifyNow(factory_.token(claims()));
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, Code::kUnavailable) << "nothing is wrong with the token";
  source.later = set(factory_);
  EXPECT_TRUE(verifyNow(factory_.token(claims())));
  EXPECT_EQ(source.refreshes, 2);
  EXPECT_TRUE(verifyNow(factory_.token(claims())));
  EXPECT_EQ(source.refreshes, 2) << "known by now";

  // The issuer has another key; with the old one nobody comes in any more.
  const TokenFactory next(GetParam(), "k2");
  source.later = set(next);
  EXPECT_TRUE(verifyNow(next.token(claims())));
  EXPECT_EQ(source.refreshes, 3);
  source.later = nullptr;
  EXPECT_FALSE(verifyNow(factory_.token(claims())));
  EXPECT_EQ(source.refreshes, 4);

  // What is refused anyway brings no fetch about, and neither does a false signature under a known name.
  Json late = claims(), elsewhere = claims();
  late["exp"] = seconds(-std::chrono::hours(1));
  elsewhere["aud"] = "other";
  const TokenFactory stranger(GetParam(), "k3"), forger(GetParam(), "k2");
  EXPECT_FALSE(verifyNow(stranger.token(late)));
  EXPECT_FALSE(verifyNow(stranger.token(elsewhere)));
  EXPECT_FALSE(verifyNow(forger.token(claims())));
  EXPECT_EQ(source.refreshes, 4);
}

TEST_P(TokenTest, OtherAlgorithmsAreRefused) {
  for (const char* algorithm : {"none", "None", "HS256", "HS512", "RS512", "PS256", "EdDSA", ""})
    expectRefused(factory_.token(Json{{"alg", algorithm}}, claims()), "RS256 and ES256 are taken");
  expectRefused(toBase64Url(R"({"alg":"none"})") + "." + toBase64Url(claims().dump()) + ".",
                "its algorithm is");
  expectRefused(factory_.token(Json{{"kid", "k1"}}, claims()), "header.alg");
  // A key is for its own algorithm only.
  const char* other = std::string(GetParam()) == "RS256" ? "ES256" : "RS256";
  expectRefused(factory_.token(Json{{"alg", other}, {"kid", "k1"}}, claims()), "no key of");
  expectRefused(factory_.token(Json{{"alg", GetParam()}, {"crit", {"exp"}}}, claims()), "must be understood");
}

TEST_P(TokenTest, OnlyKnownKeysOfTheIssuerCount) {
  const TokenFactory stranger(GetParam());
  expectRefused(stranger.token(claims()), "no key of");
  // A key inside the token is not looked at.
  Json header{{"alg", GetParam()},
              {"kid", "k1"},
              {"jwk", stranger.jwk()},
              {"jku", "https://evil.example.org"},
              {"x5u", "https://evil.example.org"},
              {"x5c", {"MIIB"}}};
  expectRefused(stranger.token(header, claims()), "no key of");
  expectRefused(factory_.token(Json{{"alg", GetParam()}, {"kid", "k2"}}, claims()), "no key of");
  // Another issuer's key does not speak for this one.
  issuers_.push_back({"https://other.example.org", {"kiln"}, parseJsonWebKeys(stranger.jwks()).value()});
  expectRefused(stranger.token(claims()), "no key of");
}

TEST_P(TokenTest, DamagedTokensAreRefused) {
  const std::string token = factory_.token(claims());
  const auto first = token.find('.'), second = token.find('.', first + 1);
  std::string changed = token;
  Json promoted = claims();
  promoted["sub"] = "repo:acme/other";
  changed.replace(first + 1, second - first - 1, toBase64Url(promoted.dump()));
  expectRefused(changed, "no key of");
  for (const std::string& bad : {std::string(), std::string("a"), std::string("a.b"), token + ".x",
                                 token + "=", token + "\n", token.substr(0, second + 1),
                                 token.substr(0, token.size() - 2), "." + token, std::string(20'000, 'a')})
    EXPECT_FALSE(verify(bad)) << bad.substr(0, 80);
  expectRefused(factory_.token(Json::array(), claims()), "not a JSON object");
  expectRefused(factory_.token(Json{{"alg", GetParam()}}, Json::array()), "not a JSON object");
}

TEST(JsonWebKeys, WhatIsNotForUsIsPassedOver) {
  const TokenFactory rsa("RS256", "r"), ec("ES256", "e");
  Json forEncryption = rsa.jwk();
  forEncryption["use"] = "enc";
  Json longer = rsa.jwk();
  longer["alg"] = "RS512";
  const Json set{
      {"keys", {{{"kty", "OKP"}, {"crv", "Ed25519"}}, forEncryption, longer, rsa.jwk(), ec.jwk()}}};
  const auto keys = parseJsonWebKeys(set.dump());
  ASSERT_TRUE(keys) << keys.error().message;
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ((*keys)[0].id, "r");
  EXPECT_EQ((*keys)[1].id, "e");
  EXPECT_FALSE(parseJsonWebKeys(Json{{"keys", {forEncryption}}}.dump()));
}

TEST(JsonWebKeys, BadExponentsAreRefused) {
  Json key = TokenFactory("RS256").jwk();
  for (const char* exponent : {"AQ", "Ag", "AAAA"}) {  // 1, 2, 0
    key["e"] = exponent;
    EXPECT_FALSE(parseJsonWebKeys(Json{{"keys", {key}}}.dump())) << exponent;
  }
}

TEST(JsonWebKeys, BadKeysAreRefused) {
  const auto refused = [](const Json& key) {
    const auto keys = parseJsonWebKeys(Json{{"keys", {key}}}.dump());
    return keys ? std::string() : keys.error().message;
  };
  Json small = TokenFactory("RS256").jwk();
  small["n"] = toBase64Url(std::string(128, '\xff'));
  EXPECT_THAT(refused(small), HasSubstr("shorter than 2048 bits"));
  small["n"] = toBase64Url(std::string(4096, '\xff'));
  EXPECT_THAT(refused(small), HasSubstr("too long"));
  small["n"] = "a+b";
  EXPECT_THAT(refused(small), HasSubstr("base64url"));
  Json off = TokenFactory("ES256").jwk();
  off["y"] = toBase64Url(std::string(32, '\1'));
  EXPECT_THAT(refused(off), HasSubstr("no point of P-256"));
  off["y"] = "AQ";
  EXPECT_THAT(refused(off), HasSubstr("32 bytes"));
  EXPECT_FALSE(parseJsonWebKeys("{}"));
  EXPECT_FALSE(parseJsonWebKeys(R"({"keys":[1]})"));
}

}  // namespace
}  // namespace kiln::access
