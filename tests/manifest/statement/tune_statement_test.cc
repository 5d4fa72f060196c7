#include "manifest/statement/tune_statement.h"

#include <gtest/gtest.h>

#include "tests/support/sample_tuning.h"

namespace kiln {
namespace {

using testing_support::sampleTune;

TEST(TuneStatement, GoesThroughJsonUnchanged) {
  const auto text = tuneStatement(digestOf("record"), sampleTune());
  ASSERT_TRUE(text) << text.error().message;
  const auto statement = parseStatement(*text);
  ASSERT_TRUE(statement);
  EXPECT_EQ(statement->predicateType, kTuneType);
  EXPECT_EQ(statement->subjects.at(0).sha256, digestOf("record").hash);
  const auto tune = TuneStatement::fromJson(statement->predicate);
  ASSERT_TRUE(tune) << tune.error().message;
  EXPECT_EQ(tune->toJson(), sampleTune().toJson());
}

TEST(TuneStatement, RefusesWhatContradictsItself) {
  TuneStatement tune = sampleTune();
  tune.faster = tune.kernels + 1;
  EXPECT_NE(tuneStatement(digestOf("record"), tune).error().message.find("faster"), std::string::npos);
  Json json = sampleTune().toJson();
  json["device"]["uuid"] = "GPU-1";
  EXPECT_NE(TuneStatement::fromJson(json).error().message.find("device.uuid"), std::string::npos);
}

}  // namespace
}  // namespace kiln
