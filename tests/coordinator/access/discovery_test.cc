#include "coordinator/access/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/token_factory.h"

namespace kiln::access {
namespace {

using ::testing::HasSubstr;
using testing_support::TokenFactory;

constexpr char kIssuer[] = "https://ci.example.org";
constexpr char kDocument[] = "https://ci.example.org/.well-known/openid-configuration";

class DiscoveryTest : public ::testing::Test {
 protected:
  DiscoveryTest() {
    issuer_.discovery.emplace();
    pages_[kDocument] = Json{{"issuer", kIssuer}, {"jwks_uri", "https://keys.example.org/set?v=1"}}.dump();
    pages_["https://keys.example.org/set?v=1"] = TokenFactory("ES256").jwks();
  }
  Result<KeySet> fetch() {
    return fetchKeys(issuer_,
                     [this](const std::string& url, std::size_t limit, const std::string&,
                            const std::stop_token&) -> Result<std::string> {
                       asked_.push_back(url);
                       const auto page = pages_.find(url);
                       if (page == pages_.end()) return fail(Code::kUnavailable, url + ": HTTP 404");
                       if (page->second.size() > limit)
                         return fail(Code::kResourceExhausted, url + ": too long");
                       return page->second;
                     },
                     {});
  }
  void expectRefused(const std::string& why) {
    const auto keys = fetch();
    ASSERT_FALSE(keys) << why;
    EXPECT_THAT(keys.error().message, HasSubstr(why));
  }

  TokenIssuer issuer_{kIssuer, {"kiln"}, {}};
  std::map<std::string, std::string> pages_;
  std::vector<std::string> asked_;
};

TEST_F(DiscoveryTest, KeysAreWhereTheDocumentSays) {
  const auto keys = fetch();
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ((*keys)->size(), 1u);
  EXPECT_THAT(asked_, ::testing::ElementsAre(kDocument, "https://keys.example.org/set?v=1"));
}

TEST_F(DiscoveryTest, AnIssuerMayHaveAPath) {
  issuer_.issuer = "https://ci.example.org/tenant/";
  fetch();
  EXPECT_EQ(asked_.at(0), "https://ci.example.org/tenant/.well-known/openid-configuration");
}

TEST_F(DiscoveryTest, TheDocumentMustBeOfThisIssuer) {
  for (const char* other :
       {"https://evil.example.org", "https://ci.example.org/", "HTTPS://ci.example.org"}) {
    pages_[kDocument] = Json{{"issuer", other}, {"jwks_uri", "https://keys.example.org/set?v=1"}}.dump();
    expectRefused("the document is of the issuer");
  }
  EXPECT_EQ(asked_.size(), 3u) << "no key set is asked for";
}

TEST_F(DiscoveryTest, KeySetsAreFetchedWithinTlsAlone) {
  for (const char* place :
       {"http://keys.example.org/set", "http://127.0.0.1/set", "file:///etc/passwd", "/set",
        "https://user@keys.example.org/set", "https://keys.example.org/#set", ""}) {
    pages_[kDocument] = Json{{"issuer", kIssuer}, {"jwks_uri", place}}.dump();
    expectRefused("jwks_uri");
  }
  EXPECT_EQ(asked_.size(), 7u) << "none of them is asked for";
}

TEST_F(DiscoveryTest, HostileDocumentsAreRefused) {
  for (const std::string& bad :
       {std::string("<html>"), std::string("[]"), std::string("{}"),
        std::string(R"({"issuer":1,"jwks_uri":2})"),
        std::string(R"({"issuer":"https://ci.example.org","issuer":"x","jwks_uri":"https://a.example"})"),
        std::string(5000, '[')}) {
    pages_[kDocument] = bad;
    expectRefused(kDocument);
  }
  pages_[kDocument] = std::string(kMaxDocumentBytes + 1, ' ');
  expectRefused("too long");
}

TEST_F(DiscoveryTest, HugeAndBrokenKeySetsAreRefused) {
  std::string& set = pages_["https://keys.example.org/set?v=1"];
  const Json key = TokenFactory("ES256").jwk();
  Json many{{"keys", Json::array()}};
  for (int i = 0; i < 65; ++i) many["keys"].push_back(key);
  set = many.dump();
  expectRefused("more than 64 keys");
  set = std::string(kMaxFetchedKeys + 1, ' ');
  expectRefused("too long");
  set = R"({"keys":[]})";
  expectRefused("has no RSA key");
  pages_.erase("https://keys.example.org/set?v=1");
  expectRefused("HTTP 404");
}

}  // namespace
}  // namespace kiln::access
