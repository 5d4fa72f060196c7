// What a verifier accepts and what it refuses. Numbers are those of the attack list in the trust reference.
#include "signing/verify/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/vsa.h"
#include "signing/bundle/bundle.h"
#include "tests/signing/farm_fixture.h"

namespace kiln::signing {
namespace {

namespace fs = std::filesystem;

struct VerifyTest : ::testing::Test {
  Farm farm;
  Policy policy =
      Policy::parse(R"({"apiVersion":"kiln/v1","kind":"Policy","name":"test","allowDevelopment":true,
    "builderIds":["*"],"minBuilders":1,"minOperators":1,"targets":["*"],"toolchains":["*"]})")
          .value();
  std::map<std::string, std::string> files{{"manifest.json", farm.manifestText},
                                           {"program.so", testing_support::kSampleProgram},
                                           {"weights/0000.bin", testing_support::kSampleWeights}};
  std::vector<std::string> bundles{farm.sign()};
  TimePoint latestSeen{};

  Verdict verify(const std::optional<Digest>& wanted = {}) {
    VerifyRequest request{farm.ociText, wanted,
                          [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) -> Status {
                            auto found = files.find(file.path);
                            if (found == files.end()) return fail(Code::kNotFound, "missing");
                            for (char c : found->second) KILN_TRY(sink(asBytes({&c, 1})));
                            return {};
                          },
                          bundles};
    return verifyArtifact(request, farm.root, policy, farm.clock, {latestSeen});
  }
  void expectRefused(Code code, const std::string& part, const std::optional<Digest>& wanted = {}) {
    Verdict verdict = verify(wanted);
    EXPECT_FALSE(verdict.passed);
    Status status = verdict.status();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, code) << status.error().message;
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
  }
  static std::string sign(const Statement& statement, const PrivateKey& key) {
    const std::string text = toCanonicalJson(statement.toJson()).value();
    return makeBundle(signEnvelope(kInTotoPayload, text, key).value(), key.publicKey()).value();
  }
  // A bundle by `key` over a provenance that the test has changed, as no honest signer would make it.
  std::string forge(const PrivateKey& key) {
    return sign({{{"artifact.json", farm.artifact.hash}}, kProvenanceType, farm.provenance.toJson()}, key);
  }
};

struct AttackCases : VerifyTest {};

// The bundle of a check by the farm's key.
std::string checkBundle(Farm& farm, bool passed, const Digest& artifact) {
  std::string receipt;
  const std::string statement = checkStatement(artifact, farm.check(passed, &receipt)).value();
  return makeBundle(signEnvelope(kInTotoPayload, statement, farm.key).value(), farm.key.publicKey()).value();
}

TEST_F(VerifyTest, ChecksAreKeptApartAndNeverStandForAProvenance) {
  bundles.push_back(checkBundle(farm, true, farm.artifact));
  Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed) << verdict.status().error().message;
  EXPECT_EQ(verdict.checks.size(), 1u);
  EXPECT_EQ(verdict.statements.size(), 1u);
  bundles.erase(bundles.begin());
  expectRefused(Code::kDataLoss, "no bundle says where the artifact comes from");
}

TEST_F(VerifyTest, ATombstoneIsToldAndChangesNothing) {
  auto bundle = [&](const std::string& builder, const Digest& artifact) {
    Tombstone tombstone{.builderId = builder,
                        .reason = "the licence ended",
                        .issuedOn = farm.clock.now(),
                        .statements = {Digest{digestOf("a provenance").hash, 0}}};
    const std::string statement = tombstoneStatement(artifact, tombstone).value();
    return makeBundle(signEnvelope(kInTotoPayload, statement, farm.key).value(), farm.key.publicKey())
        .value();
  };
  bundles.push_back(bundle(kBuilderId, farm.artifact));
  Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed) << verdict.status().error().message;
  ASSERT_EQ(verdict.tombstones.size(), 1u);
  EXPECT_NE(verdict.lines.at(5).detail.find("the licence ended"), std::string::npos);
  bundles.erase(bundles.begin());
  expectRefused(Code::kDataLoss, "no bundle says where the artifact comes from");
  bundles.insert(bundles.begin(), farm.sign());
  bundles.back() = bundle("urn:kiln:builder:stranger", farm.artifact);
  EXPECT_TRUE(verify().tombstones.empty()) << "not counted";
  bundles.back() = bundle(kBuilderId, digestOf("another"));
  expectRefused(Code::kDataLoss, "another artifact");
}

TEST_F(VerifyTest, ARequiredCheckMustHavePassedForThisArtifact) {
  policy.requireCheck = true;
  expectRefused(Code::kPermissionDenied, "unchecked");
  bundles.push_back(checkBundle(farm, false, farm.artifact));
  expectRefused(Code::kPermissionDenied, "failed");
  bundles.back() = checkBundle(farm, true, farm.artifact);
  EXPECT_TRUE(verify().passed);
  bundles.back() = checkBundle(farm, true, digestOf("another"));
  expectRefused(Code::kDataLoss, "another artifact");
}

TEST_F(VerifyTest, AcceptsTheSignedArtifact) {
  Verdict verdict = verify(farm.artifact);
  EXPECT_TRUE(verdict.passed) << verdict.status().error().message;
  EXPECT_TRUE(verdict.status());
  EXPECT_EQ(verdict.artifact.hash, farm.artifact.hash);
  EXPECT_EQ(verdict.manifest.spec, farm.manifest.spec);
  ASSERT_EQ(verdict.statements.size(), 1u);
  EXPECT_EQ(verdict.statements[0].builders.size(), 2u);
  EXPECT_EQ(verdict.agreement.workers, (std::set<std::string>{"w1 (acme)", "w2 (other)"}));
  EXPECT_EQ(verdict.agreement.operators, (std::set<std::string>{"acme", "other"}));
  EXPECT_EQ(verdict.cosigned, TimePoint{}) << "no witness saw it";
}

TEST_F(VerifyTest, NoDigestStandsForAnyArtifact) {
  EXPECT_TRUE(verify(std::nullopt).passed);
  for (const Digest& other : {digestOf("another"), digestOf(""), Digest{}, Digest{Digest{}.hash, 1}})
    expectRefused(Code::kDataLoss, "instead of " + other.text(), other);
}

TEST_F(VerifyTest, EveryFlippedBitOfEveryFileIsRefused) {
  for (auto& [name, content] : files)
    for (std::size_t i = 0; i < content.size(); i += content.size() > 100 ? 13 : 1) {
      content[i] = static_cast<char>(content[i] ^ 1);
      EXPECT_EQ(verify().status().error().code, Code::kDataLoss) << name << " byte " << i;
      content[i] = static_cast<char>(content[i] ^ 1);
    }
  std::string& oci = farm.ociText;
  for (std::size_t i = 0; i < oci.size(); ++i) {
    oci[i] = static_cast<char>(oci[i] ^ 1);
    EXPECT_FALSE(verify().passed) << "artifact.json byte " << i;
    oci[i] = static_cast<char>(oci[i] ^ 1);
  }
}

// Its bytes are those that artifact.json names, and still it is none.
TEST_F(VerifyTest, AManifestIsOneAndHasTheFilesOfItsLayers) {
  for (const std::string& text :
       {std::string("text"), std::string("{}"), std::string("[]"), farm.manifestText + "\n"}) {
    files["manifest.json"] = text;
    farm.ociText = makeOciManifest(farm.manifest, digestOf(text)).value();
    expectRefused(Code::kDataLoss, "file manifest.json: ");
  }
  files["manifest.json"] = farm.manifestText;
  Manifest other = farm.manifest;
  other.program.digest = digestOf("another program");
  farm.ociText = makeOciManifest(other, digestOf(farm.manifestText)).value();
  expectRefused(Code::kDataLoss, "file manifest.json: ");
  for (const char* text : {"", "text", "{}", "[]"}) {
    farm.ociText = text;
    expectRefused(Code::kDataLoss, "artifact: ");
  }
}

TEST_F(VerifyTest, EachThingThatWasCheckedHasALine) {
  bundles.push_back(forge(PrivateKey::create().value()));
  const Verdict verdict = verify();
  ASSERT_TRUE(verdict.passed);
  std::map<std::string, std::string> said;
  for (const VerdictLine& line : verdict.lines) {
    EXPECT_TRUE(line.ok) << line.check;
    EXPECT_TRUE(said.emplace(line.check, line.detail).second) << line.check << " is there twice";
  }
  EXPECT_EQ(said.at("artifact"), farm.artifact.text());
  EXPECT_EQ(said.at("file manifest.json"), digestOf(farm.manifestText).text());
  EXPECT_EQ(said.at("file program.so"), farm.manifest.program.digest.text());
  EXPECT_EQ(said.at("file weights/0000.bin"), farm.manifest.weights[0].digest.text());
  EXPECT_NE(said.at("bundle 1").find(farm.key.publicKey().id()), std::string::npos);
  EXPECT_EQ(said.at("bundle 2"), "not counted: signed with a key that the trust root does not list");
  for (const char* rule :
       {"allowDevelopment", "builderIds", "minBuilders", "minOperators", "targets", "toolchains"})
    EXPECT_EQ(said.count(std::string(kPolicyLine) + rule), 1u) << rule;
}

TEST_F(VerifyTest, EveryFlippedByteOfTheBundleIsRefused) {
  const std::string good = bundles[0];
  for (std::size_t i = 0; i < good.size(); i += 3) {
    bundles[0] = good;
    bundles[0][i] = static_cast<char>(bundles[0][i] ^ 1);
    EXPECT_FALSE(verify().passed) << i;
  }
}

TEST_F(VerifyTest, Case05TruncatedOversizedAndMissingFilesAreRefused) {
  files["program.so"].pop_back();
  expectRefused(Code::kDataLoss, "file program.so: is 1 bytes short");
  files["program.so"] = std::string(1 << 20, 'x');
  expectRefused(Code::kDataLoss, "is longer than");
  files.erase("program.so");
  expectRefused(Code::kDataLoss, "file program.so: missing");
}

TEST_F(AttackCases, Case08AnotherArtifactThanAskedForIsRefused) {
  expectRefused(Code::kDataLoss, "instead of", digestOf("another"));
}

TEST_F(AttackCases, Case06AReplayedSignatureIsRefused) {
  Farm other;
  other.root = farm.root;
  CompileSpec spec = farm.manifest.spec;
  spec.maxArtifactBytes = 7;  // another artifact of the same farm
  Manifest manifest = makeManifest(spec, testing_support::sampleEvidence()).value();
  files["manifest.json"] = toCanonicalJson(manifest.toJson()).value();
  farm.ociText = makeOciManifest(manifest, digestOf(files["manifest.json"])).value();
  expectRefused(Code::kDataLoss, "about another artifact");
}

TEST_F(VerifyTest, NoSignatureNoPass) {
  bundles.clear();
  expectRefused(Code::kDataLoss, "not signed");
}

TEST_F(VerifyTest, NoMoreBundlesAreReadThanAnArtifactMayHave) {
  bundles.resize(kMaxBundles, bundles[0]);
  EXPECT_TRUE(verify().passed);
  bundles.push_back(bundles[0]);
  expectRefused(Code::kDataLoss, "bundles: more than 256 bundles");
}

TEST_F(VerifyTest, NoMoreBytesOfBundlesAreReadThanAnArtifactMayHave) {
  // Who signed nothing chooses what costs most to parse.
  const std::string brackets(kMaxBundleBytes, '[');
  const auto fits = static_cast<std::size_t>((kMaxBundlesBytes - bundles[0].size()) / kMaxBundleBytes);
  bundles.resize(1 + fits, brackets);
  expectRefused(Code::kDataLoss, "bundle 2: bundle: holds more than 4096 values");
  bundles.push_back(brackets);
  const Verdict verdict = verify();
  EXPECT_FALSE(verdict.passed);
  const auto about = std::ranges::count_if(
      verdict.lines, [](const VerdictLine& line) { return line.check.starts_with("bundle"); });
  EXPECT_EQ(about, 1) << "none of them is parsed";
  EXPECT_NE(verdict.status().error().message.find("all of an artifact may have 67108864"), std::string::npos)
      << verdict.status().error().message;
}

TEST_F(VerifyTest, AForeignKeyIsRefused) {
  bundles = {forge(PrivateKey::create().value())};
  expectRefused(Code::kPermissionDenied, "does not list");
}

TEST_F(VerifyTest, AHintOfATrustedKeyProvesNothing) {
  Json json = Json::parse(forge(PrivateKey::create().value()));
  json["verificationMaterial"]["publicKey"]["hint"] = farm.key.publicKey().id();
  bundles = {json.dump()};
  expectRefused(Code::kDataLoss, "signed by 0 of the accepted keys");
}

TEST_F(VerifyTest, AForgedBundleBesideAGoodOneIsNotOverlooked) {
  Json json = Json::parse(bundles[0]);
  json["dsseEnvelope"]["signatures"][0]["sig"] = "AAAA";
  bundles.push_back(json.dump());
  expectRefused(Code::kDataLoss, "bundle 2");
  bundles[1] = forge(PrivateKey::create().value());  // by a stranger: noted, not counted
  Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.statements.size(), 1u);
}

TEST_F(AttackCases, Case09AWrongSignerForTheBuilderIsRefused) {
  PrivateKey second = PrivateKey::create().value();
  farm.root.keys.push_back({second.publicKey(), farm.root.keys[0].validFrom, farm.root.keys[0].validUntil});
  farm.root.builders.push_back({"urn:kiln:builder:other", {second.publicKey().id()}});
  bundles = {forge(second)};
  expectRefused(Code::kPermissionDenied, "does not speak for builder");
  farm.provenance.builderId = "urn:kiln:builder:unknown";
  bundles = {forge(farm.key)};
  expectRefused(Code::kPermissionDenied, "is not in the trust root");
}

TEST_F(AttackCases, Case11ForgedAndUnknownParametersAreRefused) {  // and 2
  farm.provenance.externalParameters["target"] = "cpu:x86-64-v4";
  bundles = {forge(farm.key)};
  expectRefused(Code::kDataLoss, "externalParameters.target");
  farm.provenance.externalParameters = externalParameters(farm.manifest.spec).value();
  farm.provenance.externalParameters["debug"] = "1";
  bundles = {forge(farm.key)};
  expectRefused(Code::kDataLoss, "unknown parameter \"debug\"");
}

TEST_F(VerifyTest, AnotherPredicateIsNoProvenance) {
  bundles = {sign({{{"a", farm.artifact.hash}}, "urn:example:evaluation", Json::object()}, farm.key)};
  expectRefused(Code::kDataLoss, "no bundle says where the artifact comes from");
}

VerificationSummary summaryOf(const Digest& artifact) {
  VerificationSummary out;
  out.verifierId = kBuilderId;
  out.verifierVersion = "0.1.0";
  out.artifact = artifact;
  out.policyUri = "urn:kiln:policy:test";
  out.builders = {"w1 (acme)", "w2 (acme)"};
  out.operators = {"acme"};
  return out;
}

// A key of the root that speaks for one farm says nothing for another, whatever kind of statement it signs.
TEST_F(AttackCases, Case09AStatementOfAnothersBuilderIsNotCounted) {
  const PrivateKey second = PrivateKey::create().value();
  farm.root.keys.push_back({second.publicKey(), farm.root.keys[0].validFrom, farm.root.keys[0].validUntil});
  farm.root.builders.push_back({"urn:kiln:builder:other", {second.publicKey().id()}});
  std::string receipt;
  const std::string check = checkStatement(farm.artifact, farm.check(true, &receipt)).value();
  const std::string verdictText = verificationStatement(summaryOf(farm.artifact)).value();
  for (const std::string& text : {check, verdictText}) {
    bundles.resize(1);
    bundles.push_back(sign(parseStatement(text).value(), second));
    Verdict verdict = verify();
    EXPECT_TRUE(verdict.passed);
    EXPECT_EQ(verdict.counted.size(), 1u) << text;
    EXPECT_TRUE(verdict.checks.empty());
    EXPECT_TRUE(verdict.attestations.empty());
    bundles.back() = sign(parseStatement(text).value(), farm.key);
    EXPECT_EQ(verify().counted.size(), 2u) << text;
  }
}

TEST_F(AttackCases, Case08ASummaryOfAnotherArtifactIsRefused) {
  VerificationSummary summary = summaryOf(farm.artifact);
  bundles.push_back(sign(parseStatement(verificationStatement(summary).value()).value(), farm.key));
  Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed);
  ASSERT_EQ(verdict.attestations.size(), 1u);
  EXPECT_EQ(verdict.attestations[0].evidence.ids, std::vector<std::string>{kBuilderId});
  // Another's subject, and this one's subject around another's summary.
  summary.artifact = digestOf("another");
  Statement other = parseStatement(verificationStatement(summary).value()).value();
  bundles.back() = sign(other, farm.key);
  expectRefused(Code::kDataLoss, "about another artifact");
  other.subjects[0].sha256 = farm.artifact.hash;
  bundles.back() = sign(other, farm.key);
  expectRefused(Code::kDataLoss, "it summarises another artifact");
}

TEST(Vsa, ClaimsNoMoreAgreementThanThereIs) {
  const Json good = summaryOf(digestOf("artifact")).toJson();
  ASSERT_TRUE(VerificationSummary::fromJson(good));
  EXPECT_EQ(good.at(kVsaAgreement).at("reproduced"), true);
  EXPECT_EQ(good.at(kVsaAgreement).at("independently"), false) << "two workers of one operator";
  const auto refuses = [&](const std::function<void(Json&)>& damage) {
    Json bad = good;
    damage(bad);
    return !VerificationSummary::fromJson(bad);
  };
  EXPECT_TRUE(refuses([](Json& j) { j[kVsaAgreement]["independently"] = true; }));
  EXPECT_TRUE(refuses([](Json& j) { j[kVsaAgreement]["operators"] = {"acme", "acme"}; }));
  EXPECT_TRUE(refuses([](Json& j) { j["verificationResult"] = "FAILED"; }));
  EXPECT_TRUE(refuses([](Json& j) { j["verifiedLevels"] = {"SLSA_BUILD_REPRODUCED"}; }));
  EXPECT_TRUE(refuses([](Json& j) { j["verifiedLevels"] = {"SLSA_BUILD_LEVEL_4"}; }));
  EXPECT_TRUE(refuses([](Json& j) { j["resourceUri"] = "sha256:1"; }));
  EXPECT_TRUE(refuses([](Json& j) { j["more"] = 1; }));
  EXPECT_TRUE(refuses([](Json& j) { j[kVsaFailed] = {"minBuilders"}; })) << "it says PASSED";
}

TEST(Vsa, WhatFailedNamesTheRulesAndClaimsNoLevel) {
  VerificationSummary summary = summaryOf(digestOf("artifact"));
  summary.failed = {"minBuilders", "requireCheck"};
  summary.builders.clear();
  summary.operators.clear();
  const Json good = summary.toJson();
  const auto back = VerificationSummary::fromJson(good);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_FALSE(back->passed());
  EXPECT_EQ(good.at("verificationResult"), "FAILED");
  EXPECT_EQ(good.at("verifiedLevels"), Json::array({"FAILED"}));
  const auto refuses = [&](const std::function<void(Json&)>& damage) {
    Json bad = good;
    damage(bad);
    return !VerificationSummary::fromJson(bad);
  };
  EXPECT_TRUE(refuses([](Json& j) { j["verificationResult"] = "PASSED"; }));
  EXPECT_TRUE(refuses([](Json& j) { j["verifiedLevels"] = {"SLSA_BUILD_LEVEL_1"}; }));
  EXPECT_TRUE(refuses([](Json& j) { j.erase(kVsaFailed); }));
  EXPECT_TRUE(refuses([](Json& j) { j[kVsaFailed] = Json::array(); }));
  EXPECT_TRUE(refuses([](Json& j) { j[kVsaFailed] = {"b", "a"}; }));
}

// The latest verdict of each verifier counts, in the order of the log where there is one.
TEST_F(VerifyTest, ALaterVerdictTakesTheEarliersPlace) {
  const auto said = [&](std::vector<std::string> failed, std::chrono::seconds later) {
    VerificationSummary summary = summaryOf(farm.artifact);
    summary.failed = std::move(failed);
    summary.timeVerified += later;
    return sign(parseStatement(verificationStatement(summary).value()).value(), farm.key);
  };
  policy.statements = {{kVsaType, {kBuilderId}, {summaryOf(farm.artifact).policy.text()}}};
  expectRefused(Code::kPermissionDenied, "policy statements");
  bundles.push_back(said({}, std::chrono::seconds(0)));
  EXPECT_TRUE(verify().passed);
  bundles.push_back(said({"requireCheck"}, std::chrono::seconds(5)));
  expectRefused(Code::kPermissionDenied, "requireCheck");
  std::swap(bundles[1], bundles[2]);
  expectRefused(Code::kPermissionDenied, "FAILED");
  bundles.push_back(said({}, std::chrono::seconds(9)));
  EXPECT_TRUE(verify().passed) << "promoted again";
}

TEST_F(VerifyTest, AnInputStatementTellsThePolicyWhoSignedTheModel) {
  const Json predicate{
      {"predicateType", "urn:scan"}, {"identity", "https://forge.test/w"}, {"issuer", "https://token.test"}};
  const PrivateKey author = PrivateKey::create().value();
  bundles.push_back(sign({{{"a", farm.artifact.hash}}, kInputStatementType, predicate}, author));
  farm.root.keys.push_back({author.publicKey(), farm.root.keys[0].validFrom, farm.root.keys[0].validUntil});
  farm.root.builders.push_back({"urn:intake", {author.publicKey().id()}});
  policy.statements = {{kInputStatementType,
                        {"urn:intake"},
                        {},
                        WantedInput{{"urn:scan"}, {"https://forge.test/w"}, {"https://token.test"}, {}, {}}}};
  EXPECT_TRUE(verify().passed);
  policy.statements[0].input->identities = {"https://forge.test/W"};
  expectRefused(Code::kPermissionDenied, "policy statements");
}

TEST_F(VerifyTest, AThirdPartysStatementIsKeptByWhomItsKeySpeaksFor) {
  const Statement sbom{{{"a", farm.artifact.hash}}, "https://spdx.dev/Document/v2.3", Json::object()};
  const PrivateKey author = PrivateKey::create().value();
  bundles.push_back(sign(sbom, author));
  EXPECT_TRUE(verify().attestations.empty()) << "a stranger";
  farm.root.keys.push_back({author.publicKey(), farm.root.keys[0].validFrom, farm.root.keys[0].validUntil});
  EXPECT_TRUE(verify().attestations.empty()) << "a key that speaks for nobody";
  farm.root.builders.push_back({"urn:legal", {author.publicKey().id()}});
  Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed);
  ASSERT_EQ(verdict.attestations.size(), 1u);
  EXPECT_EQ(verdict.attestations[0].evidence.ids, std::vector<std::string>{"urn:legal"});
  policy.statements = {{sbom.predicateType, {"urn:legal"}}};
  EXPECT_TRUE(verify().passed);
  policy.statements = {{sbom.predicateType, {"urn:other"}}};
  expectRefused(Code::kPermissionDenied, "policy statements");
  bundles.back() = sign({{{"a", digestOf("another").hash}}, sbom.predicateType, Json::object()}, author);
  expectRefused(Code::kDataLoss, "about another artifact");
}

// It is about each of its subjects, unlike a statement of a farm.
TEST_F(VerifyTest, OnlyAThirdPartysStatementMayHaveSeveralSubjects) {
  const std::vector<Subject> subjects{{"a", digestOf("another").hash}, {"artifact.json", farm.artifact.hash}};
  bundles.push_back(sign({subjects, "https://spdx.dev/Document/v2.3", Json::object()}, farm.key));
  EXPECT_TRUE(verify().passed);
  EXPECT_EQ(verify().attestations.size(), 1u);
  bundles.back() = sign({subjects, kProvenanceType, farm.provenance.toJson()}, farm.key);
  expectRefused(Code::kDataLoss, "about another artifact");
}

TEST_F(VerifyTest, AThirdPartysKeyCountsWhileItIsValid) {
  const Statement sbom{{{"a", farm.artifact.hash}}, "https://spdx.dev/Document/v2.3", Json::object()};
  const PrivateKey author = PrivateKey::create().value();
  const TimePoint from = farm.root.keys[0].validFrom, now = farm.clock.now();
  farm.root.keys.push_back({author.publicKey(), from, now + std::chrono::seconds(1)});
  farm.root.builders.push_back({"urn:legal", {author.publicKey().id()}});
  farm.root.builders.push_back({"urn:second", {author.publicKey().id()}});
  bundles.push_back(sign(sbom, author));
  Verdict verdict = verify();
  ASSERT_EQ(verdict.attestations.size(), 1u);
  EXPECT_EQ(verdict.attestations[0].evidence.ids, (std::vector<std::string>{"urn:legal", "urn:second"}));
  farm.root.keys.back().validUntil = now;
  verdict = verify();
  EXPECT_TRUE(verdict.passed);
  EXPECT_TRUE(verdict.attestations.empty());
  EXPECT_NE(verdict.lines.at(5).detail.find("not counted: "), std::string::npos);
  EXPECT_NE(verdict.lines.at(5).detail.find("is valid from"), std::string::npos)
      << verdict.lines.at(5).detail;
}

TEST_F(VerifyTest, ACompileStatementIsHeldAgainstTheManifest) {
  const Digest config = digestOf(farm.manifestText);
  const Json summary = compileSummary(farm.manifest, config);
  bundles.push_back(sign({{{"artifact.json", farm.artifact.hash}}, kCompileType, summary}, farm.key));
  policy.statements = {{kCompileType, {kBuilderId}}};
  Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed) << verdict.status().error().message;
  ASSERT_EQ(verdict.attestations.size(), 1u);
  EXPECT_EQ(verdict.attestations[0].predicateType, kCompileType);
  EXPECT_EQ(verdict.attestations[0].evidence.ids, std::vector<std::string>{kBuilderId});
  // Signed or not: what the Manifest does not say is refused, member by member.
  for (const auto& [name, value] : summary.items()) {
    Json other = summary;
    other.erase(name);
    bundles.back() = sign({{{"artifact.json", farm.artifact.hash}}, kCompileType, other}, farm.key);
    expectRefused(Code::kDataLoss, "no summary of the Manifest");
    other[name] = "x";
    bundles.back() = sign({{{"artifact.json", farm.artifact.hash}}, kCompileType, other}, farm.key);
    expectRefused(Code::kDataLoss, "no summary of the Manifest");
  }
  bundles.back() = sign({{{"artifact.json", digestOf("another").hash}}, kCompileType, summary}, farm.key);
  expectRefused(Code::kDataLoss, "another artifact");
  // It says nothing about where the artifact comes from.
  bundles = {sign({{{"artifact.json", farm.artifact.hash}}, kCompileType, summary}, farm.key)};
  expectRefused(Code::kDataLoss, "no bundle says where the artifact comes from");
}

TEST_F(VerifyTest, MalformedLogEntriesAreRefused) {
  Json json = Json::parse(bundles[0]);
  json["verificationMaterial"]["tlogEntries"] = Json::array({Json::object()});
  bundles = {json.dump()};
  expectRefused(Code::kDataLoss, "tlogEntries");
}

TEST_F(AttackCases, Case12AnExpiredKeyDoesNotCount) {
  farm.root.keys[0].validUntil = farm.clock.now();
  expectRefused(Code::kPermissionDenied, "is valid from");
}

// Without a place in a log nothing says that a signature is older than the theft of its key.
TEST_F(AttackCases, Case12ARevokedKeyDoesNotCountWithoutALogEntry) {
  const Revocation revocation{farm.key.publicKey().id(), farm.clock.now(), "stolen", {}};
  farm.root.revocations = {revocation};
  expectRefused(Code::kPermissionDenied, "was revoked on 2026-11-20T06:00:00Z (stolen)");
  farm.clock.set(farm.clock.now() - std::chrono::minutes(30));  // a clock before the revocation helps nobody
  expectRefused(Code::kPermissionDenied, "was revoked");
}

TEST_F(AttackCases, Case22AClockThatIsDaysOffAcceptsNothingWrongly) {
  const TimePoint now = farm.clock.now();
  farm.root.keys[0].validUntil = now + std::chrono::days(900);
  farm.clock.set(now + std::chrono::days(400));
  expectRefused(Code::kPermissionDenied, "the trust root expired");
  farm.clock.set(now - std::chrono::days(3));
  expectRefused(Code::kPermissionDenied, "is valid from");
  // A clock turned back does not bring an expired key to life: witnesses had seen a later time.
  farm.root.keys[0].validUntil = now;
  farm.clock.set(now - std::chrono::minutes(1));
  EXPECT_TRUE(verify().passed);
  latestSeen = now + std::chrono::days(1);
  expectRefused(Code::kPermissionDenied, "is valid from");
}

TEST_F(VerifyTest, TwoSignersKeysCountAtOnce) {  // rotation without downtime
  const TimePoint now = farm.clock.now();
  const PrivateKey fresh = PrivateKey::create().value();
  farm.root.keys.push_back({fresh.publicKey(), now, now + std::chrono::days(30)});
  farm.root.builders[0].keys.push_back(fresh.publicKey().id());
  farm.root.keys[0].validUntil = now + std::chrono::days(7);
  bundles.push_back(forge(fresh));
  EXPECT_EQ(verify().statements.size(), 2u);
  farm.clock.set(now + std::chrono::days(8));
  const Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed) << "the new key carries on where the old one ended";
  EXPECT_EQ(verdict.statements.size(), 1u);
}

TEST_F(VerifyTest, PolicyDecides) {
  policy.allowDevelopment = false;
  expectRefused(Code::kPermissionDenied, "policy allowDevelopment");
  policy.allowDevelopment = true;
  policy.minBuilders = 3;
  expectRefused(Code::kPermissionDenied, "policy minBuilders: 2 of 3");
  policy.minBuilders = 2;
  EXPECT_TRUE(verify().passed);
  policy.signers = {farm.key.publicKey().id()};
  EXPECT_TRUE(verify().passed);
  policy.signers = {PrivateKey::create()->publicKey().id()};
  expectRefused(Code::kPermissionDenied, "policy signers");
  policy.signers.clear();
  policy.maxAgeSeconds = 3600;
  farm.clock.set(farm.provenance.finishedOn + std::chrono::hours(1));
  EXPECT_TRUE(verify().passed);
  farm.clock.set(farm.provenance.finishedOn + std::chrono::hours(1) + std::chrono::seconds(1));
  expectRefused(Code::kPermissionDenied, "policy maxAgeSeconds");
}

TEST_F(VerifyTest, PolicyLooksAtTheManifest) {
  policy.partitionTargets = {"cpu:x86-64-v3"};
  expectRefused(Code::kPermissionDenied, "policy partitionTargets");
  Json evidence = testing_support::sampleEvidence();
  evidence["stages"]["partition"] = {{"fallback", Json::array()},
                                     {"partitions", Json::array({Json{{"target", "cpu:x86-64-v3"}}})}};
  farm.manifest = makeManifest(farm.manifest.spec, evidence).value();
  files["manifest.json"] = toCanonicalJson(farm.manifest.toJson()).value();
  farm.ociText = makeOciManifest(farm.manifest, digestOf(files["manifest.json"])).value();
  farm.artifact = digestOf(farm.ociText);
  bundles = {forge(farm.key)};
  policy.maxFallbackPermille = 0;
  const Status accepted = verify().status();
  EXPECT_TRUE(accepted) << accepted.error().message;
  policy.partitionTargets = {"cuda:sm_90a"};
  expectRefused(Code::kPermissionDenied, "policy partitionTargets");
}

TEST_F(AttackCases, Case10AToolchainThatThePolicyDoesNotPinIsRefused) {
  policy.toolchains = {digestOf("a newer toolchain").text()};
  expectRefused(Code::kPermissionDenied, "policy toolchains");
  policy.toolchains = {farm.manifest.spec.toolchainDigest.text()};
  EXPECT_TRUE(verify().passed);
}

struct DirectoryTest : VerifyTest {
  testing_support::TempDirectory scratch;
  std::string directory = scratch / "artifact";

  void SetUp() override {
    fs::create_directories(directory + "/weights");
    fs::create_directories(directory + "/bundles");
    std::ofstream(directory + "/artifact.json") << farm.ociText;
    for (const auto& [name, content] : files) write(name, content);
    write("fixtures/fixtures.json", farm.fixtureList);
    for (const auto& [path, content] : farm.fixtures) write("fixtures/" + path, content);
    std::ofstream(directory + "/bundles/provenance.sigstore.json") << bundles[0];
  }
  void write(const std::string& name, const std::string& content) {
    fs::create_directories(fs::path(directory + "/" + name).parent_path());
    std::ofstream(directory + "/" + name) << content;
  }
  void expectFixturesRefused(const std::string& part) {
    Verdict verdict = check();
    EXPECT_FALSE(verdict.passed) << part;
    ASSERT_FALSE(verdict.status()) << part;
    EXPECT_EQ(verdict.status().error().code, Code::kDataLoss);
    EXPECT_NE(verdict.status().error().message.find(part), std::string::npos)
        << verdict.status().error().message;
    for (const VerdictLine& line : verdict.lines)
      EXPECT_FALSE(line.ok && line.check.starts_with("fixture")) << line.check << ": " << line.detail;
  }
  Verdict check() { return verifyDirectory({directory, farm.artifact}, farm.root, policy, farm.clock); }
};

TEST_F(DirectoryTest, AcceptsAFetchedArtifact) {
  Verdict verdict = check();
  EXPECT_TRUE(verdict.passed) << verdict.status().error().message;
  EXPECT_EQ(verdict.lines.back().check, "fixtures");
  EXPECT_EQ(verdict.lines.back().detail, "2 files match the provenance");
}

TEST_F(DirectoryTest, FixturesAreExactlyThoseThatTheProvenanceNames) {
  for (const auto& [path, content] : farm.fixtures) {
    for (std::size_t i = 0; i < content.size(); ++i) {
      std::string flipped = content;
      flipped[i] = static_cast<char>(flipped[i] ^ 1);
      write("fixtures/" + path, flipped);
      expectFixturesRefused("fixture " + path + ": has digest");
    }
    write("fixtures/" + path, content + "x");
    expectFixturesRefused("fixture " + path + ": is longer");
    fs::remove(directory + "/fixtures/" + path);
    expectFixturesRefused("fixture " + path);
    write("fixtures/" + path, content);
  }
  for (std::size_t i = 0; i < farm.fixtureList.size(); ++i) {
    std::string flipped = farm.fixtureList;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    write("fixtures/fixtures.json", flipped);
    expectFixturesRefused("no accepted provenance names");
  }
  fs::remove(directory + "/fixtures/fixtures.json");
  expectFixturesRefused("fixtures");
  write("fixtures/fixtures.json", farm.fixtureList);
  for (const char* planted : {"planted.npy", "default/planted.npy", "a/b/planted", ".hidden"}) {
    write(std::string("fixtures/") + planted, "x");
    expectFixturesRefused("is not in the list that is signed");
    fs::remove(directory + "/fixtures/" + planted);
  }
  EXPECT_TRUE(check().passed);
  fs::remove_all(directory + "/fixtures");
  EXPECT_TRUE(check().passed) << "an artifact may be without fixtures";
}

TEST_F(DirectoryTest, FixturesThatNobodySignedAreRefused) {
  farm.provenance.byproducts.clear();
  write("bundles/provenance.sigstore.json", forge(farm.key));
  expectFixturesRefused("no accepted provenance names");
  // A second statement about the same artifact may name them; a stranger's may not.
  farm.provenance.byproducts = {{kFixturesByproduct, "", digestOf(farm.fixtureList), {}}};
  write("bundles/second.sigstore.json", forge(PrivateKey::create().value()));
  expectFixturesRefused("no accepted provenance names");
  write("bundles/second.sigstore.json", forge(farm.key));
  EXPECT_TRUE(check().passed);
}

TEST_F(DirectoryTest, AMalformedListIsRefusedEvenIfSigned) {
  farm.provenance.byproducts = {{kFixturesByproduct, "", digestOf("{}"), {}}};
  write("fixtures/fixtures.json", "{}");
  write("bundles/provenance.sigstore.json", forge(farm.key));
  expectFixturesRefused("version");
}

TEST_F(DirectoryTest, LinksAndSpecialFilesAmongTheFixturesAreRefused) {
  const std::string input = directory + "/fixtures/default/input_0.npy";
  fs::rename(input, scratch / "elsewhere");
  fs::create_symlink(scratch / "elsewhere", input);
  expectFixturesRefused("is a symbolic link");
  fs::remove(input);
  ASSERT_EQ(::mkfifo(input.c_str(), 0600), 0);
  expectFixturesRefused("not a regular file");
  fs::remove(input);
  fs::rename(scratch / "elsewhere", input);
  fs::create_directory_symlink(scratch.path(), directory + "/fixtures/linked");
  expectFixturesRefused("symbolic link");
  fs::remove(directory + "/fixtures/linked");
  fs::rename(directory + "/fixtures", scratch / "fixtures");
  fs::create_directory_symlink(scratch / "fixtures", directory + "/fixtures");
  expectFixturesRefused("not a directory itself");
  fs::remove(directory + "/fixtures");
  std::ofstream(directory + "/fixtures") << "a file";
  expectFixturesRefused("not a directory itself");
}

TEST_F(DirectoryTest, MissingPiecesAreNamed) {
  fs::remove(directory + "/weights/0000.bin");
  EXPECT_NE(check().status().error().message.find("weights/0000.bin"), std::string::npos);
  fs::remove_all(directory + "/bundles");
  EXPECT_NE(check().status().error().message.find("weights/0000.bin"), std::string::npos);
  write("weights/0000.bin", files["weights/0000.bin"]);
  EXPECT_EQ(check().status().error().message, "bundles: no bundle: the artifact is not signed");
  std::ofstream(directory + "/bundles") << "a file";
  EXPECT_TRUE(check().status().error().message.starts_with("bundles: bundles: "))
      << check().status().error().message;
  fs::remove(directory + "/artifact.json");
  EXPECT_EQ(check().status().error().code, Code::kDataLoss);
  EXPECT_TRUE(check().status().error().message.starts_with("artifact: ")) << check().status().error().message;
  fs::remove_all(directory);
  EXPECT_TRUE(check().status().error().message.starts_with("directory: "))
      << check().status().error().message;
}

TEST_F(DirectoryTest, LinksAndSpecialFilesAreRefused) {  // attack 18
  fs::rename(directory + "/program.so", scratch / "elsewhere");
  fs::create_symlink(scratch / "elsewhere", directory + "/program.so");
  EXPECT_NE(check().status().error().message.find("program.so: is a symbolic link"), std::string::npos);
  fs::remove(directory + "/program.so");
  ASSERT_EQ(::mkfifo((directory + "/program.so").c_str(), 0600), 0);
  EXPECT_NE(check().status().error().message.find("not a regular file"), std::string::npos);
  fs::remove(directory + "/program.so");
  fs::rename(scratch / "elsewhere", directory + "/program.so");
  EXPECT_TRUE(check().passed);
  fs::rename(directory + "/weights", scratch / "weights");
  fs::create_directory_symlink(scratch / "weights", directory + "/weights");
  EXPECT_FALSE(check().passed);
}

TEST_F(DirectoryTest, NoMoreThanSoManyFilesAndFoldersAreLookedAt) {
  // Beside the list, "default" and its two files.
  for (const char* folder : {"a", "b"}) {
    fs::create_directory(directory + "/fixtures/" + folder);
    for (int i = 0; i < 4093; ++i)
      std::ofstream(directory + "/fixtures/" + folder + "/" + std::to_string(i)).close();
  }
  expectFixturesRefused("is not in the list that is signed");
  std::ofstream(directory + "/fixtures/more").close();
  expectFixturesRefused("more than 8192 files and folders");
}

TEST_F(DirectoryTest, NoDeeperThanSoManyFoldersIsLookedAt) {
  std::string folder = directory + "/fixtures";
  for (int depth = 1; depth <= 16; ++depth) folder += "/d";
  fs::create_directories(folder);
  EXPECT_TRUE(check().passed) << check().status().error().message;
  fs::create_directory(folder + "/d");
  expectFixturesRefused("is too deep");
}

TEST_F(DirectoryTest, WhatCameAlongIsReadUpToItsLimit) {
  const auto recalls = directory + "/recalls.json";
  EXPECT_EQ(recallsIn(directory).value(), "");
  write("recalls.json", "anything");
  EXPECT_EQ(recallsIn(directory).value(), "anything");
  fs::resize_file(recalls, kMaxRecallsBytes);
  const auto longest = recallsIn(directory);
  ASSERT_TRUE(longest) << longest.error().message;
  EXPECT_EQ(longest->size(), kMaxRecallsBytes);
  fs::resize_file(recalls, kMaxRecallsBytes + 1);
  const auto longer = recallsIn(directory);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, Code::kDataLoss);
  fs::remove(recalls);
  fs::create_symlink("/etc/hostname", recalls);
  EXPECT_EQ(recallsIn(directory).error().code, Code::kDataLoss);
  EXPECT_EQ(recallsIn(directory + "/nowhere").error().code, Code::kNotFound);
}

TEST_F(DirectoryTest, ACallThatWasInterruptedBeforeChangesNothing) {
  errno = EINTR;
  EXPECT_TRUE(check().passed);
}

// Who looks again at what was verified and loaded needs no files.
TEST_F(DirectoryTest, StatementsAloneAreLookedAtAgain) {
  const auto again = [&] {
    return verifyDirectory({directory, farm.artifact, true}, farm.root, policy, farm.clock);
  };
  fs::remove(directory + "/program.so");
  fs::remove_all(directory + "/fixtures");
  std::ofstream(directory + "/fixtures") << "a file";
  EXPECT_FALSE(check().passed);
  EXPECT_TRUE(again().passed) << again().status().error().message;
  farm.root.keys[0].validUntil = farm.clock.now();
  EXPECT_EQ(again().status().error().code, Code::kPermissionDenied);
}

TEST_F(DirectoryTest, Case32APlantedRootIsNotLookedAt) {
  PrivateKey rogue = PrivateKey::create().value();
  std::ofstream(directory + "/root.json")
      << toCanonicalJson(developmentRoot(rogue.publicKey(), kBuilderId, farm.clock.now()).toJson()).value();
  std::ofstream(directory + "/bundles/provenance.sigstore.json") << forge(rogue);
  EXPECT_EQ(check().status().error().code, Code::kPermissionDenied);
}

}  // namespace
}  // namespace kiln::signing
