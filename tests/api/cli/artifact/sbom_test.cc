// `kiln show --sbom`: bills of materials from the signed provenance.
#include "api/client/exports/sbom.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "tests/api/cli/signed_program.h"

namespace kiln {
namespace {

struct KilnSbom : testing_support::SignedProgram {
  Json sbom(const std::string& format) {
    const auto shown = kiln({"show", artifact.path(), "--sbom", format});
    EXPECT_EQ(shown.exit, 0) << shown.err;
    EXPECT_EQ(kiln({"show", artifact.path(), "--sbom", format}).out, shown.out)
        << "not a function of the artifact";
    return Json::parse(shown.out, nullptr, false);
  }
  std::string artifactHash() const { return digestOfFile(artifact / "artifact.json")->hex(); }
  // The exit code of the check; 77 where its tools are missing.
  int schemaCheck(const Json& document) const {
    std::ofstream(directory / "sbom.json") << document.dump();
    return WEXITSTATUS(std::system(
        (std::string(KILN_PYTHON) + " " + KILN_SBOM_CHECK + " " + (directory / "sbom.json")).c_str()));
  }
};

TEST_F(KilnSbom, CycloneDxNamesModelToolchainAndFiles) {
  const Json bill = sbom("cyclonedx");
  EXPECT_EQ(bill.at("bomFormat"), "CycloneDX");
  EXPECT_EQ(bill.at("specVersion"), "1.6");
  const Json& artifactPart = bill.at("metadata").at("component");
  EXPECT_EQ(artifactPart.at("type"), "machine-learning-model");
  EXPECT_EQ(artifactPart.at("hashes").at(0).at("content"), artifactHash());
  const Json& parameters = artifactPart.at("modelCard").at("modelParameters");
  EXPECT_EQ(parameters.at("inputs").at(0).at("format"), "x: f32[N,256]");
  std::map<std::string, std::string> types;
  for (const Json& part : bill.at("components")) types[part.at("name")] = part.at("type");
  const CompileSpec& spec = artifact.manifest.spec;
  EXPECT_EQ(types.at("toolchain"), "application");
  EXPECT_EQ(types.at("input/" + spec.files.front().path), "machine-learning-model");
  EXPECT_EQ(types.size(), 1 + spec.files.size());
  for (const Json& part : bill.at("components"))
    if (part.at("name") == "toolchain")
      EXPECT_EQ(part.at("hashes").at(0).at("content"), spec.toolchainDigest.hex());
  EXPECT_EQ(bill.at("dependencies").at(0).at("dependsOn").size(), types.size());
  EXPECT_EQ(artifactPart.at("components").at(0).at("name"), "program.so");
}

TEST_F(KilnSbom, CycloneDxHoldsToItsPublishedSchema) {
  Json bill = sbom("cyclonedx");
  const int exit = schemaCheck(bill);
  if (exit == 77) GTEST_SKIP() << "the schema's wheel is not installed (infra/setup)";
  EXPECT_EQ(exit, 0);
  bill.at("components").at(0)["type"] = "compiler";
  EXPECT_EQ(schemaCheck(bill), 1) << "the schema takes anything";
}

TEST_F(KilnSbom, SpdxRelatesEveryPackage) {
  const Json bill = sbom("spdx");
  EXPECT_EQ(bill.at("spdxVersion"), "SPDX-2.3");
  EXPECT_EQ(bill.at("documentNamespace"), "urn:kiln:sbom:" + artifactHash());
  std::set<std::string> packages, related;
  for (const Json& package : bill.at("packages")) {
    EXPECT_TRUE(packages.insert(package.at("SPDXID")).second) << package.dump();
    EXPECT_EQ(package.at("checksums").at(0).at("checksumValue").get<std::string>().size(), 64u);
  }
  std::set<std::string> kinds;
  for (const Json& relation : bill.at("relationships")) {
    kinds.insert(relation.at("relationshipType"));
    for (const char* const end : {"spdxElementId", "relatedSpdxElement"})
      related.insert(relation.at(end).get<std::string>());
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"BUILD_TOOL_OF", "CONTAINS", "DESCRIBES", "GENERATED_FROM"}));
  packages.insert("SPDXRef-DOCUMENT");
  EXPECT_EQ(packages, related);
}

// A later statement about the same artifact, by a farm that had it from elsewhere, changes nothing.
TEST(Sbom, TheEarliestProvenanceSaysWhereThingsCameFrom) {
  const std::string source = "git+https://example.com/m.git@0123456789012345678901234567890123456789#m.onnx";
  signing::Verdict verdict;
  verdict.artifact = digestOf("artifact");
  verdict.manifest.spec.files = {{"m.onnx", digestOf("model")}};
  EXPECT_EQ(client::cycloneDx(verdict).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(client::spdx(verdict).error().code, Code::kFailedPrecondition);
  Provenance early, late;
  early.resolvedDependencies = {{"input/m.onnx", source, digestOf("model"), {}}};
  early.finishedOn = TimePoint(std::chrono::seconds(1));
  late.resolvedDependencies = {{"input/m.onnx", "", digestOf("model"), {}}};
  late.finishedOn = TimePoint(std::chrono::seconds(2));
  verdict.statements = {late, early};
  const Json cyclone = client::cycloneDx(verdict).value(),
             packages = client::spdx(verdict).value().at("packages");
  EXPECT_EQ(cyclone.at("metadata").at("timestamp"), "1970-01-01T00:00:01Z");
  EXPECT_EQ(cyclone.at("components").at(0).at("externalReferences").at(0),
            Json({{"type", "vcs"}, {"url", source}}));
  EXPECT_EQ(packages.at(1).at("downloadLocation"), source);
  EXPECT_EQ(packages.at(0).at("downloadLocation"), "NOASSERTION");
}

TEST_F(KilnSbom, WhatDoesNotVerifyHasNone) {
  std::ofstream(artifact / "program.so", std::ios::app) << "!";
  for (const char* const format : {"cyclonedx", "spdx"}) {
    const auto shown = kiln({"show", artifact.path(), "--sbom", format});
    EXPECT_EQ(shown.exit, 5);
    EXPECT_EQ(shown.out, "");
  }
  EXPECT_EQ(kiln({"show", artifact.path(), "--sbom", "swid"}).exit, 2);
}

}  // namespace
}  // namespace kiln
