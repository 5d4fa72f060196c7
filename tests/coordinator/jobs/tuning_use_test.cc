#include "coordinator/jobs/tuning_use.h"

#include <gtest/gtest.h>

#include "tests/support/sample_spec.h"
#include "tests/support/sample_tuning.h"

namespace kiln::jobs {
namespace {

Manifest manifestOf(const Json& kernels) {
  Json evidence = testing_support::sampleEvidence();
  evidence["stages"]["schedule"] = {{"kernels", kernels}};
  return makeManifest(testing_support::sampleSpec(), evidence).value();
}

TEST(TuningUse, WhatWasGivenIsWhatWasUsed) {
  const TuningEntries given = entriesOf(testing_support::sampleRecord());
  ASSERT_EQ(given.entries.size(), 1u);
  const TuningEntries none{given.target, {}};
  const std::string digest = entryDigest(given.target, given.entries[0]);
  const Json used = {
      {{"symbol", "a"}, {"tuned", digest}}, {{"symbol", "b"}, {"tuned", digest}}, {{"symbol", "c"}}};
  EXPECT_TRUE(checkTuningUse(manifestOf(used), &given)) << "equal kernels share an entry";
  EXPECT_TRUE(checkTuningUse(manifestOf(Json::array({{{"symbol", "c"}}})), &none));
  const Status unused = checkTuningUse(manifestOf(Json::array({{{"symbol", "c"}}})), &given);
  ASSERT_FALSE(unused);
  EXPECT_NE(unused.error().message.find(digest), std::string::npos) << unused.error().message;
  const Status foreign = checkTuningUse(manifestOf(used), &none);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("was not given"), std::string::npos) << foreign.error().message;
  for (const Json& odd : {Json(3), Json(Json::object())})
    EXPECT_FALSE(checkTuningUse(manifestOf(Json::array({{{"tuned", odd}}})), &given));
}

TEST(TuningUse, TheCatalogueIsForCompilesWithoutEntries) {
  const TuningEntries given = entriesOf(testing_support::sampleRecord()), none{given.target, {}};
  const std::string digest = entryDigest(given.target, given.entries[0]);
  const Manifest catalogued = manifestOf(Json::array({{{"symbol", "a"}, {"catalogue", digest}}}));
  EXPECT_TRUE(checkTuningUse(catalogued, nullptr));
  const Status refused = checkTuningUse(catalogued, &none);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("catalogue"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(checkTuningUse(manifestOf(Json::array({{{"tuned", digest}}})), nullptr));
}

}  // namespace
}  // namespace kiln::jobs
