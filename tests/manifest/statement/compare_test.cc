#include "manifest/statement/compare.h"

#include <gtest/gtest.h>

#include "tests/support/sample_provenance.h"

namespace kiln {
namespace {

const ProvenanceDifference* find(const std::vector<ProvenanceDifference>& all, const std::string& what,
                                 const std::string& name) {
  for (const auto& each : all)
    if (each.what == what && each.name == name) return &each;
  return nullptr;
}

TEST(CompareProvenance, TheSameBuildAgainDiffersInNothing) {
  const Provenance first = testing_support::sampleProvenance();
  Provenance second = first;
  second.invocationId = "another job";
  second.finishedOn += Duration(1);
  second.builders[0].receipt = digestOf(std::string_view("another receipt"));
  EXPECT_TRUE(compareProvenance(first, second).empty());
}

TEST(CompareProvenance, SaysWhatChanged) {
  const Provenance first = testing_support::sampleProvenance();
  Provenance second = first;
  second.externalParameters["fallback"] = "other";
  second.resolvedDependencies[1].uri.clear();
  second.resolvedDependencies[1].digest = digestOf(std::string_view("another model"));
  second.builders.pop_back();
  second.internalParameters["action"] = "always differs where anything does";
  const auto found = compareProvenance(first, second);
  EXPECT_EQ(found.size(), 4u);
  ASSERT_TRUE(find(found, "parameter", "fallback"));
  EXPECT_EQ(find(found, "parameter", "fallback")->second, "other");
  const std::string model = first.resolvedDependencies[1].name;
  ASSERT_TRUE(find(found, "input", model));
  ASSERT_TRUE(find(found, "source", model));
  EXPECT_EQ(find(found, "source", model)->second, "");
  ASSERT_TRUE(find(found, "builder", "w2"));
  EXPECT_EQ(find(found, "builder", "w2")->first, "other");
}

TEST(CompareProvenance, ComponentsAreComparedWhereBothAreKnown) {
  const Provenance same = testing_support::sampleProvenance();
  ToolchainDescription one, two;
  one.components = {{"ptxas", "13.0", "bin/ptxas", digestOf(std::string_view("a"))}};
  two.components = {{"ptxas", "13.1", "bin/ptxas", digestOf(std::string_view("b"))}};
  const auto found = compareProvenance(same, same, &one, &two);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "ptxas bin/ptxas");
  EXPECT_TRUE(found[0].first.starts_with("13.0 sha256:"));
  EXPECT_TRUE(compareProvenance(same, same, &one, nullptr).empty());
}

}  // namespace
}  // namespace kiln
