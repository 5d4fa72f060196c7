#include "manifest/statement/ir_statement.h"

#include <gtest/gtest.h>

#include "manifest/statement/third_party.h"

namespace kiln {
namespace {

const Digest kArtifact = digestOf("an artifact");

IrStatement sample() {
  IrStatement out;
  out.builderId = "urn:kiln:builder:test";
  out.worker = "w1";
  out.operatorName = "acme";
  out.toolchain = digestOf("toolchain");
  out.files = {{"01-capture.mlir", digestOf("a module")}, {"02-rewrite.mlir", digestOf("another")}};
  EXPECT_TRUE(irStatement(kArtifact, out));
  return out;
}

CompileSpec specOf(const Digest& toolchain) {
  CompileSpec out;
  out.toolchainDigest = toolchain;
  return out;
}

TEST(IrStatement, NamesTheOciManifestThatItsFilesMake) {
  IrStatement said = sample();
  const std::string manifest = makeReferrer(irReferrer(kArtifact, said.files)).value();
  EXPECT_EQ(said.ir, digestOf(manifest));
  const Referrer read = parseReferrer(manifest).value();
  EXPECT_EQ(read.artifactType, kIrArtifactType);
  EXPECT_EQ(read.subject, kArtifact);
  ASSERT_EQ(read.layers.size(), 2u);
  EXPECT_EQ(read.layers[1].path, "02-rewrite.mlir");
  const Statement statement = parseStatement(irStatement(kArtifact, said).value()).value();
  EXPECT_EQ(statement.predicateType, kIrType);
  const IrStatement back = IrStatement::fromJson(statement.predicate).value();
  EXPECT_EQ(back.toJson(), said.toJson());
  EXPECT_TRUE(back.checkAbout(kArtifact, specOf(said.toolchain)));
}

TEST(IrStatement, IsOfOneArtifactAndToolchain) {
  const IrStatement said = sample();
  EXPECT_EQ(said.checkAbout(digestOf("another"), specOf(said.toolchain)).error().code, Code::kDataLoss);
  EXPECT_EQ(said.checkAbout(kArtifact, specOf(digestOf("another"))).error().code, Code::kDataLoss);
  IrStatement changed = said;
  changed.files[1].digest = digestOf("a changed module");
  EXPECT_EQ(changed.checkAbout(kArtifact, specOf(said.toolchain)).error().code, Code::kDataLoss);
}

TEST(IrStatement, HasBoundsAndNoOtherMembers) {
  std::vector<Json> changed(7, sample().toJson());
  changed[0]["note"] = "more";
  changed[1]["files"] = Json::array();
  std::swap(changed[2]["files"][0], changed[2]["files"][1]);
  changed[3]["files"][0]["path"] = "../01-capture.mlir";
  changed[4]["files"][1]["size"] = std::to_string(kMaxIrBytes);  // beside the first file
  changed[5]["files"][1] = changed[5]["files"][0];
  changed[6].erase("ir");
  for (const Json& json : changed)
    EXPECT_EQ(IrStatement::fromJson(json).error().code, Code::kInvalidArgument) << json.dump();
  Json many = sample().toJson();
  many["files"] = Json::array();
  for (std::size_t i = 0; i <= kMaxIrFiles; ++i)
    many["files"].push_back(
        {{"path", std::to_string(10000 + i)}, {"digest", kArtifact.text()}, {"size", "1"}});
  EXPECT_FALSE(IrStatement::fromJson(many));
  many["files"].erase(0);
  EXPECT_TRUE(IrStatement::fromJson(many));
}

TEST(IrStatement, IsForFarmsToMake) {
  IrStatement said = sample();
  EXPECT_FALSE(checkThirdParty(parseStatement(irStatement(kArtifact, said).value()).value()));
}

}  // namespace
}  // namespace kiln
