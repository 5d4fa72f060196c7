#include "coordinator/quota/quota_rules.h"

#include <gtest/gtest.h>

#include "signing/keys/files.h"
#include "tests/support/temp_directory.h"

namespace kiln::quota {
namespace {

constexpr char kExample[] = R"({"apiVersion": "kiln/v1", "kind": "Quotas",
  "default": {"queued": 100, "running": 8},
  "instances": {"team-a": {"weight": 4, "running": 32}, "team-b": {"queued": 0}}})";

TEST(QuotaRules, WhatAnInstanceDoesNotSayIsAsForAllOthers) {
  const QuotaRules rules = QuotaRules::parse(kExample).value();
  EXPECT_EQ(rules.of("team-a"), (Quota{4, 100, 32}));
  EXPECT_EQ(rules.of("team-b"), (Quota{1, 0, 8}));
  EXPECT_EQ(rules.of("somebody"), (Quota{1, 100, 8}));
  EXPECT_EQ(rules.others(), (Quota{1, 100, 8}));
}

TEST(QuotaRules, WithoutAFileNobodyHasALimit) {
  EXPECT_EQ(QuotaRules().of("a"), (Quota{1, std::nullopt, std::nullopt}));
  EXPECT_EQ(QuotaRules::parse(R"({"apiVersion": "kiln/v1", "kind": "Quotas"})")->of("a"), Quota());
}

TEST(QuotaRules, RefusesWhatItDoesNotKnowAndNamesThePlace) {
  const auto refusal = [](const std::string& from, const std::string& to) {
    std::string text = kExample;
    text.replace(text.find(from), from.size(), to);
    const auto rules = QuotaRules::parse(text);
    EXPECT_FALSE(rules) << to;
    return rules ? "" : rules.error().message;
  };
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& part) {
    const std::string message = refusal(from, to);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("\"weight\": 4", "\"weight\": 0", "instances.team-a.weight");
  expect("\"weight\": 4", "\"weight\": 1001", "instances.team-a.weight");
  expect("\"running\": 32", "\"running\": -1", "instances.team-a.running");
  expect("\"queued\": 100", "\"queued\": \"100\"", "default.queued");
  expect("\"queued\": 0", "\"gpus\": 0", "instances.team-b.gpus");
  expect("\"queued\": 0", "\"storedBytes\": 9007199254740992", "instances.team-b.storedBytes");
  expect("\"queued\": 0", "\"uploadedBytesPerHour\": -1", "instances.team-b.uploadedBytesPerHour");
  expect("\"queued\": 0", "\"logEntriesPerDay\": 1000000001", "instances.team-b.logEntriesPerDay");
  expect("\"queued\": 0", "\"gpuMinutesPerDay\": 0.5", "instances.team-b.gpuMinutesPerDay");
  expect("\"team-b\"", "\"b\\u0007\"", "instances");
  expect("\"Quotas\"", "\"Access\"", "kind");
  expect("\"default\"", "\"others\"", "others");
}

TEST(QuotaRules, AFileIsNamedInErrors) {
  testing_support::TempDirectory directory;
  const std::string path = directory / "quotas.json";
  EXPECT_NE(QuotaRules::load(path).error().message.find(path), std::string::npos);
  ASSERT_TRUE(signing::writeTextFile(path, kExample));
  EXPECT_EQ(QuotaRules::load(path)->of("team-a").weight, 4);
}

TEST(QuotaRules, ReadsTheGoldenFile) {
  const QuotaRules rules = QuotaRules::load(std::string(KILN_GOLDEN) + "/v1/quotas.json").value();
  EXPECT_EQ(rules.of("team-a"), (Quota{4, 100, 32, std::int64_t{1} << 40, 100LL << 30, 5000, 600, 7200}));
  EXPECT_EQ(rules.of("team-b"), (Quota{1, 0, 8}));
}

TEST(Quotas, WhoHoldsTheRulesKeepsThemWhileOthersTakeTheirPlace) {
  Quotas quotas(QuotaRules::parse(kExample).value());
  const auto before = quotas.current();
  quotas.replace({});
  EXPECT_EQ(before->of("team-a").weight, 4);
  EXPECT_EQ(quotas.current()->of("team-a").weight, 1);
}

}  // namespace
}  // namespace kiln::quota
