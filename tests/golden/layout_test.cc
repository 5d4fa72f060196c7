// The documents of an export keep their bytes.
#include <gtest/gtest.h>

#include "manifest/artifact/oci_layout.h"
#include "tests/support/golden.h"

namespace kiln {
namespace {

std::string at(const std::string& name) {
  return std::string(KILN_GOLDEN_DIR) + "/v1/" + name;
}
Digest blob(const std::string& name) {
  return digestOf(name);
}

Referrer fixtures() {
  return {kFixturesType,
          blob("artifact"),
          digestOf(kEmptyConfig),
          {{"fixtures.json", kBlobMediaType, blob("list")}, {"p/input.npy", kBlobMediaType, blob("input")}}};
}

TEST(GoldenLayout, Referrers) {
  testing_support::expectGolden(at("oci-fixtures.json"), makeReferrer(fixtures()).value());
  testing_support::expectGolden(at("oci-bundle.json"),
                                makeBundleReferrer(blob("artifact"), blob("bundle")).value());
  const Referrer read = parseReferrer(testing_support::readGolden(at("oci-fixtures.json"))).value();
  EXPECT_EQ(read.subject, fixtures().subject);
  EXPECT_EQ(read.layers, fixtures().layers);
  EXPECT_EQ(artifactTypeOf(testing_support::readGolden(at("oci-bundle.json"))).value(), kBundleType);
}

TEST(GoldenLayout, Index) {
  const std::vector<LayoutEntry> referrers{{blob("a bundle's manifest"), kBundleType},
                                           {blob("the fixtures' manifest"), kFixturesType}};
  testing_support::expectGolden(at("oci-referrers.json"), makeReferrersIndex(referrers).value());
  testing_support::expectGolden(at("oci-index.json"),
                                makeLayoutIndex(blob("artifact"), referrers, blob("tag")).value());
  EXPECT_EQ(parseLayoutIndex(testing_support::readGolden(at("oci-index.json"))).value(),
            (std::vector{blob("artifact"), referrers[0].manifest, referrers[1].manifest}));
}

TEST(GoldenLayout, Closure) {
  const ClosureConfig closure{{{"bin/ptxas", blob("ptxas")}, {"lib/libc.so.6", blob("libc")}}};
  testing_support::expectGolden(at("oci-closure.json"), makeClosureConfig(closure).value());
  EXPECT_EQ(parseClosureConfig(testing_support::readGolden(at("oci-closure.json")))->omitted,
            closure.omitted);
}

}  // namespace
}  // namespace kiln
