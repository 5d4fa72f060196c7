#include "manifest/artifact/oci.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/sample_spec.h"

namespace kiln {
namespace {

struct OciTest : ::testing::Test {
  Manifest manifest = makeManifest(testing_support::sampleSpec(), testing_support::sampleEvidence()).value();
  Digest config = digestOf(toCanonicalJson(manifest.toJson()).value());
  std::string text = makeOciManifest(manifest, config).value();
};

TEST_F(OciTest, RoundTrips) {
  OciManifest oci = parseOciManifest(text).value();
  EXPECT_EQ(oci.digest, digestOf(text));
  EXPECT_EQ(oci.config, config);
  ASSERT_EQ(oci.layers.size(), 2u);
  EXPECT_EQ(oci.layers[0], manifest.program);
  EXPECT_EQ(oci.layers[1], manifest.weights[0]);
  EXPECT_TRUE(checkLayers(oci, manifest));
  EXPECT_TRUE(parseCanonicalJson(text));
}

TEST_F(OciTest, LayersMustBeThoseOfTheManifest) {
  OciManifest oci = parseOciManifest(text).value();
  oci.layers[1].digest = digestOf("other");
  EXPECT_EQ(checkLayers(oci, manifest).error().code, Code::kDataLoss);
  oci.layers.pop_back();
  EXPECT_FALSE(checkLayers(oci, manifest));
}

TEST_F(OciTest, KernelsComeBeforeWeights) {
  manifest = makeManifest(testing_support::deviceSpec(), testing_support::deviceEvidence()).value();
  text = makeOciManifest(manifest, config).value();
  const OciManifest oci = parseOciManifest(text).value();
  EXPECT_EQ(oci.layers, manifest.files());
  EXPECT_EQ(oci.layers[1].mediaType, kCubinMediaType);
  EXPECT_TRUE(checkLayers(oci, manifest));
  Json json = Json::parse(text);
  std::swap(json["layers"][1], json["layers"][2]);
  EXPECT_NE(parseOciManifest(json.dump()).error().message.find("artifact.layers[2].mediaType"),
            std::string::npos);
}

TEST_F(OciTest, RefusesHostileManifests) {
  const char* title = "org.opencontainers.image.title";
  const std::pair<const char*, std::function<void(Json&)>> cases[] = {
      {"artifact.extra", [](Json& j) { j["extra"] = 1; }},
      {"artifact.schemaVersion", [](Json& j) { j["schemaVersion"] = 1; }},
      {"artifact.artifactType", [](Json& j) { j["artifactType"] = "application/x"; }},
      {"artifact.mediaType", [](Json& j) { j.erase("mediaType"); }},
      {"artifact.config.mediaType", [](Json& j) { j["config"]["mediaType"] = "application/json"; }},
      {"artifact.config.size", [](Json& j) { j["config"]["size"] = 4 << 20; }},
      {"artifact.config.digest", [](Json& j) { j["config"]["digest"] = "sha512:00"; }},
      {"artifact.layers", [](Json& j) { j["layers"] = Json::array(); }},
      {"artifact.layers[0].size", [](Json& j) { j["layers"][0]["size"] = -1; }},
      {"artifact.layers[0].size", [](Json& j) { j["layers"][0]["size"] = "12"; }},
      {"artifact.layers[0].urls", [](Json& j) { j["layers"][0]["urls"] = {"http://x"}; }},
      {"artifact.layers[1].mediaType", [](Json& j) { j["layers"][1]["mediaType"] = "application/x"; }},
      {"artifact.layers[1].annotations", [](Json& j) { j["layers"][1].erase("annotations"); }},
      {"artifact.layers[1].annotations.org.opencontainers.image.title",
       [&](Json& j) { j["layers"][1]["annotations"][title] = "../../etc/passwd"; }},
      {"artifact.layers[1].annotations.org.opencontainers.image.title",
       [&](Json& j) { j["layers"][1]["annotations"][title] = "/etc/passwd"; }},
      {"artifact.layers[1]", [&](Json& j) { j["layers"][1]["annotations"][title] = "program.so"; }},
      {"artifact.layers[1]", [&](Json& j) { j["layers"][1]["annotations"][title] = "manifest.json"; }},
      {"artifact.layers[1]", [&](Json& j) { j["layers"][1]["annotations"][title] = "program.so/x"; }},
      {"artifact.layers[1]",
       [&](Json& j) { j["layers"][1]["annotations"][title] = "bundles/x.sigstore.json"; }},
  };
  for (const auto& [place, damage] : cases) {
    Json json = Json::parse(text);
    damage(json);
    auto oci = parseOciManifest(json.dump());
    ASSERT_FALSE(oci) << place;
    EXPECT_EQ(oci.error().code, Code::kInvalidArgument);
    EXPECT_EQ(oci.error().message.substr(0, oci.error().message.find(": ")), place) << oci.error().message;
  }
}

TEST_F(OciTest, StaysBelowFourMebibytes) {
  Digest large = config;
  large.size = kMaxOciManifestBytes;
  EXPECT_EQ(makeOciManifest(manifest, large).error().code, Code::kResourceExhausted);
  std::string padded = text;
  padded.insert(1, std::string(kMaxOciManifestBytes, ' '));
  EXPECT_FALSE(parseOciManifest(padded));
  for (int i = 1; i < 16000; ++i) {
    ArtifactFile weight = manifest.weights[0];
    weight.path = "weights/" + std::string(100, 'x') + std::to_string(i);
    manifest.weights.push_back(std::move(weight));
  }
  EXPECT_EQ(makeOciManifest(manifest, config).error().code, Code::kResourceExhausted);
}

TEST_F(OciTest, SurvivesTruncationAndFlips) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(parseOciManifest(std::string_view(text).substr(0, i)));
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    auto oci = parseOciManifest(bad);
    EXPECT_TRUE(!oci || oci->digest != digestOf(text));
  }
}

}  // namespace
}  // namespace kiln
