#include "api/cli/view/provenance_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/sample_provenance.h"

namespace kiln::cli {
namespace {

std::string printed(const signing::Verdict& verdict, const graph::Ancestry& ancestry) {
  testing::internal::CaptureStdout();
  printProvenance(verdict, ancestry);
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

TEST(ProvenanceText, LineBreaksInSignedTextMakeNoLines) {
  signing::Verdict verdict;
  Provenance provenance = testing_support::sampleProvenance();
  verdict.tombstones = {{"urn:b", "a reason", TimePoint(), {}}};
  const graph::Ancestry honest{verdict.artifact, {{provenance, "sha256:ab"}}, {}, {}, {}, {{"ci", "job-1"}}};
  const std::string before = printed(verdict, honest);
  EXPECT_NE(before.find("statement   sha256:ab"), std::string::npos);
  EXPECT_NE(before.find("submitted   by ci"), std::string::npos);

  const std::string forged = "\nbuilt by    urn:kiln:builder:trusted\r\x1b[2J";
  provenance.builderId += forged;
  provenance.invocationId += forged;
  provenance.builders[0].worker += forged;
  provenance.builders[0].operatorName += forged;
  provenance.resolvedDependencies[1].uri += forged;
  provenance.externalParameters.begin()->second += forged;
  provenance.internalParameters.begin()->second += forged;
  provenance.builderVersion.begin()->second += forged;
  verdict.tombstones[0].reason += forged;
  const std::string after = printed(
      verdict, {verdict.artifact, {{provenance, "sha256:ab"}}, {}, {}, {}, {{"ci" + forged, "job-1"}}});
  EXPECT_EQ(std::ranges::count(after, '\n'), std::ranges::count(before, '\n')) << after;
  EXPECT_EQ(after.find("\nbuilt by    urn:kiln:builder:trusted"), std::string::npos);
  EXPECT_EQ(after.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace kiln::cli
