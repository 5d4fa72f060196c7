#include <gtest/gtest.h>

#include <algorithm>

#include "signing/policy/evaluate.h"

namespace kiln::signing {
namespace {

constexpr char kSlsa[] = "https://slsa.dev/provenance/v1";
constexpr char kWho[] = "https://forge.test/acme/models/.ci/release.yml@refs/heads/main";
constexpr char kIssuer[] = "https://token.forge.test";

Policy wanting(WantedInput input) {
  Policy policy{"p", true, {"*"}, 1, 1, {"*"}, {"*"}};
  policy.statements = {{kInputStatementType, {"urn:intake"}, {}, std::move(input)}};
  return policy;
}

class PolicyInputs : public ::testing::Test {
 protected:
  bool passes(WantedInput input) { return result(std::move(input)).ok; }
  RuleResult result(WantedInput input) {
    PolicyFacts facts{false, &provenance_};
    facts.attestations = {&said_, 1};
    const auto results = evaluate(wanting(std::move(input)), facts);
    return *std::ranges::find(results, "statements", &RuleResult::rule);
  }

  const std::string root_ = digestOf("root").text();
  Attestation said_{kInputStatementType,
                    {{}, "k", false, {}, {"urn:intake"}},
                    {},
                    {},
                    {},
                    SignedInput{kSlsa, "key", kWho, root_, kIssuer}};
  Provenance provenance_;
};

TEST_F(PolicyInputs, AskForATypeByAnIdentityOfAnIssuer) {
  EXPECT_TRUE(passes({}));
  EXPECT_TRUE(passes({{kSlsa}, {kWho}, {kIssuer}, {root_}, {"key"}}));
  EXPECT_TRUE(passes({{"urn:other", kSlsa}, {}, {}, {}, {}}));
  EXPECT_FALSE(passes({{"urn:other"}, {kWho}, {kIssuer}, {}, {}}));
  EXPECT_FALSE(passes({{kSlsa}, {std::string(kWho) + "x"}, {kIssuer}, {}, {}}));
  EXPECT_FALSE(passes({{kSlsa}, {std::string(kWho).substr(0, 30)}, {kIssuer}, {}, {}}));
  EXPECT_FALSE(passes({{}, {kWho}, {"https://token"}, {}, {}}));
  EXPECT_FALSE(passes({{}, {}, {}, {digestOf("another").text()}, {}}));
  EXPECT_FALSE(passes({{}, {}, {}, {}, {"another"}}));
  EXPECT_NE(result({{"urn:other"}, {kWho}, {kIssuer}, {}, {}}).detail.find(kIssuer), std::string::npos);
  EXPECT_NE(result({{kSlsa}, {}, {}, {}, {}}).detail.find(kWho), std::string::npos) << "who it was is told";
}

TEST_F(PolicyInputs, WhatAStatementDoesNotSayMeetsNoDemand) {
  said_.input->issuer.clear();
  EXPECT_FALSE(passes({{}, {}, {kIssuer}, {}, {}}));
  EXPECT_FALSE(passes({{}, {}, {"*"}, {}, {}}));
  EXPECT_TRUE(passes({{}, {kWho}, {}, {root_}, {}}));
  said_.input.reset();
  EXPECT_FALSE(passes({{kSlsa}, {}, {}, {}, {}}));
  said_.input = SignedInput::of(Json{{"predicateType", 7}, {"identity", Json::array()}});
  EXPECT_FALSE(passes({{"*"}, {}, {}, {}, {}}));
  said_.input = SignedInput::of(Json("x"));
  EXPECT_FALSE(passes({{}, {"*"}, {}, {"*"}, {}}));
  said_.input = SignedInput{kSlsa, "key", kWho, root_, kIssuer};
  said_.evidence.ids = {"urn:stranger"};
  EXPECT_FALSE(passes({{kSlsa}, {}, {}, {}, {}})) << "the author counts first";
}

TEST_F(PolicyInputs, AreReadWithWhoSaysWhoseANameIs) {
  const auto refusal = [](const Json& statement) {
    Json json = wanting({}).toJson();
    json["statements"] = Json::array({statement});
    const auto parsed = Policy::parse(json.dump());
    return parsed ? std::string() : parsed.error().message;
  };
  Json wanted{{"predicateType", kInputStatementType}, {"authors", {"urn:intake"}}};
  EXPECT_EQ(refusal(wanted), "");
  wanted["input"] = {{"predicateTypes", {kSlsa}}, {"identities", {kWho}}, {"issuers", {kIssuer}}};
  EXPECT_EQ(refusal(wanted), "");
  Json json = wanting({}).toJson();
  json["statements"] = Json::array({wanted});
  EXPECT_EQ(Policy::parse(json.dump())->toJson()["statements"][0], wanted);
  wanted["input"].erase("issuers");
  EXPECT_NE(refusal(wanted).find("issuers or roots"), std::string::npos);
  wanted["input"]["roots"] = {"0011"};
  EXPECT_NE(refusal(wanted).find("roots"), std::string::npos);
  wanted["input"]["roots"] = {root_};
  EXPECT_EQ(refusal(wanted), "");
  wanted["input"]["keyIds"] = Json::array();
  EXPECT_NE(refusal(wanted), "");
  wanted["input"] = {{"unknown", 1}};
  EXPECT_NE(refusal(wanted).find("unknown"), std::string::npos);
  wanted["input"] = Json::array();
  EXPECT_NE(refusal(wanted), "");
  wanted = {{"predicateType", "urn:sbom"}, {"authors", {"a"}}, {"input", Json::object()}};
  EXPECT_NE(refusal(wanted).find("input"), std::string::npos) << "of other statements nothing is read";
}

}  // namespace
}  // namespace kiln::signing
