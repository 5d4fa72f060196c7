#include "manifest/statement/image_statement.h"

#include <gtest/gtest.h>

#include "manifest/artifact/media_types.h"
#include "manifest/statement/third_party.h"

namespace kiln {
namespace {

const ArtifactImage kImage{digestOf("an artifact"),
                           "cpu:x86-64-v3",
                           {digestOf("its files"), digestOf("its evidence")},
                           {digestOf("a provenance"), digestOf("a compile statement")}};

Json statementJson() {
  return Json::parse(imageStatement(kImage).value());
}

Result<StatedImage> readBack(const Json& json, const Digest& artifact = kImage.artifact,
                             const std::string& target = kImage.target) {
  KILN_ASSIGN(const Statement statement, parseStatement(json.dump()));
  return readImageStatement(statement, artifact, target);
}

TEST(ImageStatement, NamesArtifactAndImageAndNothingElse) {
  const Json json = statementJson();
  ASSERT_EQ(json["subject"].size(), 2u);
  EXPECT_EQ(json["subject"][0]["digest"]["sha256"], kImage.artifact.hex());
  const auto said = readBack(json);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->image, kImage);
  EXPECT_EQ(json["subject"][1]["digest"]["sha256"], said->digest.hex());
  const ImageDocuments documents = makeImage(kImage).value();
  EXPECT_EQ(said->digest, digestOf(documents.manifest));
  EXPECT_EQ(Json::parse(documents.manifest)["subject"]["digest"], kImage.artifact.text());
  EXPECT_EQ(imageStatement(kImage).value(), imageStatement(kImage).value());
}

TEST(ImageStatement, IsRefusedWhereItsPartsDoNotMakeItsImage) {
  EXPECT_EQ(readBack(statementJson(), digestOf("another artifact")).error().code, Code::kDataLoss);
  EXPECT_EQ(readBack(statementJson(), kImage.artifact, "cpu:aarch64").error().code, Code::kDataLoss);
  std::vector<Json> changed(4, statementJson());
  changed[0]["subject"].erase(1);
  changed[1]["subject"][1]["digest"]["sha256"] = digestOf("another image").hex();
  std::swap(changed[2]["subject"][0], changed[2]["subject"][1]);
  std::swap(changed[3]["predicate"]["layers"][0], changed[3]["predicate"]["layers"][1]);
  for (const Json& json : changed) EXPECT_EQ(readBack(json).error().code, Code::kDataLoss) << json.dump();
}

TEST(ImageStatement, HasBoundsAndNoOtherMembers) {
  std::vector<Json> changed(5, statementJson());
  changed[0]["predicate"]["note"] = "more";
  changed[1]["predicate"]["layers"].erase(1);
  changed[2]["predicate"]["bundles"] = Json::array();
  for (std::size_t i = 0; i < kMaxImageBundles; ++i)
    changed[3]["predicate"]["bundles"].push_back(changed[3]["predicate"]["bundles"][0]);
  changed[4]["predicate"]["image"]["digest"] = "sha256:x";
  for (const Json& json : changed)
    EXPECT_EQ(readBack(json).error().code, Code::kInvalidArgument) << json.dump().substr(0, 300);
}

TEST(ImageStatement, IsForFarmsToMake) {
  const Statement statement = parseStatement(statementJson().dump()).value();
  EXPECT_FALSE(checkThirdParty(statement));
}

TEST(ImageStatement, ArtifactOfIsTheOneSubjectOrAnImagesFirst) {
  Statement statement = parseStatement(statementJson().dump()).value();
  EXPECT_EQ(artifactOf(statement)->hash, kImage.artifact.hash);
  statement.predicateType = kProvenanceType;
  EXPECT_FALSE(artifactOf(statement)) << "only an image statement is about two";
  statement.subjects.pop_back();
  EXPECT_EQ(artifactOf(statement)->hash, kImage.artifact.hash);
  statement.predicateType = kImageType;
  EXPECT_FALSE(artifactOf(statement));
}

}  // namespace
}  // namespace kiln
