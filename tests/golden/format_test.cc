// Every document that is hashed or signed keeps its bytes, and what was written once can be read for ever.
#include <gtest/gtest.h>

#include "manifest/artifact/oci.h"
#include "manifest/spec/delivery_spec.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/image_statement.h"
#include "manifest/statement/ir_statement.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/statement/vsa.h"
#include "manifest/toolchain/lock.h"
#include "manifest/tuning/catalogue.h"
#include "signing/bundle/bundle.h"
#include "signing/policy/policy.h"
#include "signing/recall/recalls.h"
#include "signing/receipt/receipt.h"
#include "signing/trust/trust_root.h"
#include "tests/support/full_root.h"
#include "tests/support/golden.h"
#include "tests/support/sample_fixtures.h"
#include "tests/support/sample_lock.h"
#include "tests/support/sample_provenance.h"
#include "tests/support/sample_tuning.h"

namespace kiln {
namespace {

using testing_support::expectGolden;
using testing_support::readGolden;

std::string at(const std::string& name) {
  return std::string(KILN_GOLDEN_DIR) + "/v1/" + name;
}

Manifest sampleManifest() {
  return makeManifest(testing_support::sampleSpec(), testing_support::sampleEvidence()).value();
}

// Writes the value as `name` and reads the committed bytes back into an equal one.
template <class T>
void keepsItsForm(const std::string& name, const T& value) {
  expectGolden(at(name), toCanonicalJson(value.toJson()).value());
  auto back = T::fromJson(parseCanonicalJson(readGolden(at(name))).value());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->toJson(), value.toJson());
}

TEST(Golden, CompileSpec) {
  keepsItsForm("compile-spec.json", testing_support::sampleSpec());
}
TEST(Golden, CompileSpecOfSeveralTargets) {
  CompileSpec spec = testing_support::sampleSpec();
  const Target both = parseTarget("cpu:x86-64-v4,cpu:x86-64-v3").value();
  spec.target = both.name;
  spec.features = both.features;
  spec.fallback = "cpu";
  spec.partition = {{{"op:Softmax", "cpu:x86-64-v3"}}, {{"block/*", "cpu:x86-64-v4"}}, {"Add", "Relu"}, 250};
  keepsItsForm("compile-spec-partition.json", spec);
}
TEST(Golden, CompileSpecWithParameters) {
  CompileSpec spec = testing_support::sampleSpec();
  spec.parameters = {parameterPath(1), parameterPath(0, "bias.npy")};
  spec.files.push_back({spec.parameters[1], digestOf("bias")});
  spec.files.push_back({spec.parameters[0], digestOf("tensors")});
  keepsItsForm("compile-spec-parameters.json", spec);
}
TEST(Golden, CompileSpecOfMultiples) {
  CompileSpec spec = testing_support::sampleSpec();
  spec.profiles[0].dims = {{"height", {32, 640, 1280, 32}}, {"width", {32, 640, 1280}}};
  keepsItsForm("compile-spec-multiple.json", spec);
}
TEST(Golden, DeliverySpec) {
  keepsItsForm("delivery-spec.json",
               DeliverySpec{.builders = 2, .operators = 2, .priority = -1, .noCache = true});
}
TEST(Golden, DeliverySpecWithTuning) {
  DeliverySpec spec;
  spec.tuning = TuningRequest{.search = true, .budgetSeconds = 90};
  keepsItsForm("delivery-spec-tuning.json", spec);
}
TEST(Golden, DeliverySpecOfDefaultSchedules) {
  DeliverySpec spec;
  spec.defaultSchedules = true;
  keepsItsForm("delivery-spec-defaults.json", spec);
}
TEST(Golden, DeliverySpecThatKeepsIr) {
  keepsItsForm("delivery-spec-ir.json", DeliverySpec{.keepIr = true});
}
TEST(Golden, TuningCatalogue) {
  keepsItsForm("tuning-catalogue.json", TuningCatalogue{{{"cpu:x86-64-v3", digestOf("a record")},
                                                         {"cpu:x86-64-v4", digestOf("another record")}}});
}
TEST(Golden, KernelPlan) {
  keepsItsForm("kernel-plan.json", testing_support::samplePlan());
}
TEST(Golden, TuningRecordAndItsEntries) {
  keepsItsForm("tuning-record.json", testing_support::sampleRecord());
  keepsItsForm("tuning-entries.json", entriesOf(testing_support::sampleRecord()));
}
TEST(Golden, Tune) {
  keepsItsForm("tune.json", testing_support::sampleTune());
}
TEST(Golden, Manifest) {
  keepsItsForm("manifest.json", sampleManifest());
}

TEST(Golden, Evidence) {
  expectGolden(at("evidence.json"), toCanonicalJson(testing_support::sampleEvidence()).value());
  Json evidence = parseCanonicalJson(readGolden(at("evidence.json"))).value();
  EXPECT_TRUE(makeManifest(testing_support::sampleSpec(), evidence));
}

TEST(Golden, DynamicManifest) {
  const Json evidence = testing_support::dynamicEvidence();
  keepsItsForm("manifest-abi2.json", makeManifest(testing_support::dynamicSpec(), evidence).value());
  expectGolden(at("evidence-abi2.json"), toCanonicalJson(evidence).value());
}

// As above, with nodes whose indices are counted.
TEST(Golden, CountingManifest) {
  Json evidence = testing_support::dynamicEvidence();
  evidence["program"]["indexChecks"] = {"embed", "layers/0/Gather"};
  keepsItsForm("manifest-indices.json", makeManifest(testing_support::dynamicSpec(), evidence).value());
}

// Categories that a caller gives, and labels that the program gives back.
TEST(Golden, ManifestWithStrings) {
  Json evidence = testing_support::dynamicEvidence();
  evidence["program"]["strings"] = {"", "Zürich", "no", "yes"};
  evidence["program"]["inputs"][1]["text"] = true;
  evidence["program"]["outputs"][1]["text"] = true;
  keepsItsForm("manifest-strings.json", makeManifest(testing_support::dynamicSpec(), evidence).value());
}

TEST(Golden, DeviceManifest) {
  const Json evidence = testing_support::deviceEvidence();
  const Manifest manifest = makeManifest(testing_support::deviceSpec(), evidence).value();
  keepsItsForm("manifest-abi3.json", manifest);
  expectGolden(at("evidence-abi3.json"), toCanonicalJson(evidence).value());
  expectGolden(at("artifact-abi3.json"),
               makeOciManifest(manifest, digestOf(toCanonicalJson(manifest.toJson()).value())).value());
  EXPECT_TRUE(checkLayers(parseOciManifest(readGolden(at("artifact-abi3.json"))).value(), manifest));
}

TEST(Golden, FixtureList) {
  expectGolden(at("fixtures.json"), testing_support::fixtureListOf(testing_support::sampleFixtures()));
  EXPECT_TRUE(parseFixtureList(readGolden(at("fixtures.json"))));
}

TEST(Golden, OciManifest) {
  Manifest manifest = sampleManifest();
  expectGolden(at("artifact.json"),
               makeOciManifest(manifest, digestOf(toCanonicalJson(manifest.toJson()).value())).value());
  EXPECT_TRUE(checkLayers(parseOciManifest(readGolden(at("artifact.json"))).value(), manifest));
}

TEST(Golden, ProvenanceStatement) {
  expectGolden(at("provenance.json"), provenanceStatement(digestOf(readGolden(at("artifact.json"))),
                                                          testing_support::sampleProvenance())
                                          .value());
  Statement statement = parseStatement(readGolden(at("provenance.json"))).value();
  EXPECT_EQ(Provenance::fromJson(statement.predicate).value(), testing_support::sampleProvenance());
}

TEST(Golden, CompileSummary) {
  const auto keeps = [](const std::string& name, const Manifest& manifest) {
    const Digest config = digestOf(toCanonicalJson(manifest.toJson()).value());
    expectGolden(at(name), toCanonicalJson(compileSummary(manifest, config)).value());
    EXPECT_TRUE(checkCompileSummary(parseCanonicalJson(readGolden(at(name))).value(), manifest, config));
  };
  keeps("compile.json", sampleManifest());
  keeps("compile-abi2.json",
        makeManifest(testing_support::dynamicSpec(), testing_support::dynamicEvidence()).value());
  keeps("compile-abi3.json",
        makeManifest(testing_support::deviceSpec(), testing_support::deviceEvidence()).value());
}

TEST(Golden, ImageStatement) {
  const ArtifactImage image{digestOf("an artifact"),
                            "cpu:x86-64-v3",
                            {digestOf("its files"), digestOf("what is said about them")},
                            {digestOf("a provenance"), digestOf("a compile statement")}};
  const Statement statement = parseStatement(imageStatement(image).value()).value();
  expectGolden(at("image.json"), toCanonicalJson(statement.predicate).value());
  Statement read = statement;
  read.predicate = parseCanonicalJson(readGolden(at("image.json"))).value();
  EXPECT_EQ(readImageStatement(read, image.artifact, image.target)->image, image);
}

TEST(Golden, IrStatement) {
  IrStatement ir;
  ir.builderId = "urn:kiln:builder:test";
  ir.invocationId = "job-4";
  ir.action = digestOf("compile for the IR");
  ir.worker = "w1";
  ir.operatorName = "acme";
  ir.receipt = digestOf("receipt");
  ir.startedOn = parseRfc3339("2026-11-20T07:30:00Z").value();
  ir.finishedOn = parseRfc3339("2026-11-20T07:30:05Z").value();
  ir.toolchain = digestOf("toolchain");
  ir.files = {{"01-capture.mlir", digestOf("a module")}, {"10-program.ll", digestOf("a program")}};
  const Digest artifact = digestOf(readGolden(at("artifact.json")));
  ASSERT_TRUE(irStatement(artifact, ir));
  keepsItsForm("ir.json", ir);
  expectGolden(at("oci-ir.json"), makeReferrer(irReferrer(artifact, ir.files)).value());
  EXPECT_EQ(digestOf(readGolden(at("oci-ir.json"))), ir.ir);
}

TEST(Golden, Reproduction) {
  Reproduction again;
  again.rebuilderId = "urn:kiln:builder:test";
  again.worker = "w3";
  again.operatorName = "acme";
  again.invocationId = "job-2";
  again.compile = digestOf("compile");
  again.reference = digestOf("reference");
  again.manifest = digestOf("manifest");
  again.fixtures = digestOf("fixtures");
  again.sandboxPolicy = digestOf("policy");
  again.absent = {{"bin/ptxas", digestOf("ptxas")}};
  again.startedOn = parseRfc3339("2026-11-20T05:00:00Z").value();
  again.finishedOn = parseRfc3339("2026-11-20T05:00:09Z").value();
  keepsItsForm("reproduction.json", again);
}

TEST(Golden, Check) {
  CheckStatement check;
  check.builderId = "urn:kiln:builder:test";
  check.invocationId = "job-3";
  check.action = digestOf("check");
  check.plan = digestOf("plan");
  check.worker = "w1";
  check.operatorName = "acme";
  check.receipt = digestOf("receipt");
  check.startedOn = parseRfc3339("2026-11-20T07:00:00Z").value();
  check.finishedOn = parseRfc3339("2026-11-20T07:00:05Z").value();
  check.report = {{"passed", true},
                  {"items",
                   {{{"kind", "fixture"},
                     {"name", "profile default: y"},
                     {"passed", true},
                     {"detail", "10 elements agree"},
                     {"measured", {{"maxAbsolute", "0.000000119209"}, {"maxRelative", "0.000000100000"}}}}}},
                  {"measured", {{"loadSeconds", "0.000499000"}}},
                  {"device", {{"processor", "a processor"}, {"threads", 2}, {"path", "cpu"}}}};
  keepsItsForm("check.json", check);
}

TEST(Golden, Tombstone) {
  keepsItsForm("tombstone.json", Tombstone{.builderId = "urn:kiln:builder:test",
                                           .reason = "the licence ended",
                                           .issuedOn = parseRfc3339("2026-11-20T06:00:00Z").value(),
                                           .statements = {Digest{digestOf("a provenance").hash, 0}}});
}

TEST(Golden, ToolchainAdmission) {
  keepsItsForm("toolchain-admission.json",
               ToolchainAdmission{.builderId = "urn:kiln:builder:test",
                                  .label = "kiln-0.1.0+llvm22.1.8",
                                  .lock = digestOf("a lock"),
                                  .admittedOn = parseRfc3339("2026-11-20T06:00:00Z").value()});
}

TEST(Golden, ToolchainAdmissionOfAnInstance) {
  keepsItsForm("toolchain-admission-instance.json",
               ToolchainAdmission{.builderId = "urn:kiln:builder:test",
                                  .label = "kiln-0.1.0+llvm22.1.8",
                                  .lock = digestOf("a lock"),
                                  .admittedOn = parseRfc3339("2026-11-20T06:00:00Z").value(),
                                  .instance = "team-a"});
}

TEST(Golden, ToolchainLock) {
  expectGolden(at("toolchain-lock.json"), toCanonicalJson(testing_support::sampleLock()).value());
  EXPECT_EQ(readToolchainLock(readGolden(at("toolchain-lock.json")))->inputs.size(), 4u);
}

TEST(Golden, Receipt) {
  signing::Receipt receipt{digestOf("action"),
                           "lease-1",
                           7,
                           "w1",
                           "acme",
                           0,
                           digestOf("policy"),
                           {{"output/program.so", digestOf("p")}}};
  auto key = signing::PrivateKey::create().value();
  std::string envelope =
      signing::makeReceipt(receipt, key).value();  // the signature differs each time, the payload not
  expectGolden(at("receipt.json"), signing::parseEnvelope(envelope, signing::kReceiptPayload)->payload);
}

TEST(Golden, Policy) {
  signing::Policy policy{
      "golden", false, {"urn:kiln:builder:test"}, 2, 2, {"cpu:x86-64-v3"}, {digestOf("toolchain").text()}};
  expectGolden(at("policy.json"), toCanonicalJson(policy.toJson()).value());
  EXPECT_EQ(signing::Policy::load(at("policy.json"))->toJson(), policy.toJson());
}

// Signatures are random, so the bundle is not compared: the committed one must verify with the committed
// root.
TEST(Golden, BundleAndRoot) {
  if (testing_support::acceptsGolden()) {
    auto key = signing::PrivateKey::create().value();
    signing::TrustRoot root = signing::developmentRoot(key.publicKey(), "urn:kiln:builder:test",
                                                       parseRfc3339("2026-11-20T06:00:00Z").value());
    testing_support::writeGolden(at("root.json"), toCanonicalJson(root.toJson()).value());
    auto envelope =
        signing::signEnvelope(signing::kInTotoPayload, readGolden(at("provenance.json")), key).value();
    testing_support::writeGolden(at("bundle.sigstore.json"),
                                 signing::makeBundle(envelope, key.publicKey()).value());
  }
  signing::TrustRoot root = signing::TrustRoot::load(at("root.json")).value();
  signing::Bundle bundle = signing::parseBundle(readGolden(at("bundle.sigstore.json"))).value();
  const signing::PublicKey* key = root.findKey(bundle.keyId);
  ASSERT_NE(key, nullptr);
  EXPECT_TRUE(signing::verifyEnvelope(bundle.envelope, std::array{*key}));
  EXPECT_EQ(bundle.envelope.payload, readGolden(at("provenance.json")));
  EXPECT_EQ(toCanonicalJson(root.toJson()).value(), readGolden(at("root.json")));
  EXPECT_EQ(signing::makeBundle(bundle.envelope, *key).value(), readGolden(at("bundle.sigstore.json")));
}

TEST(Golden, PolicyWithEveryMember) {
  signing::Policy policy{
      "golden", false, {"urn:kiln:builder:test"}, 2, 2, {"cpu:x86-64-v3"}, {digestOf("toolchain").text()},
      true};
  policy.signers = {"IvEP6V0fkUov8uXA76oDs4YKnjiZF7rRTIlx34SdJSc="};
  policy.minToolchainVersion = "0.1.0";
  policy.maxFallbackPermille = 50;
  policy.partitionTargets = {"cpu:x86-64-v3"};
  policy.checks = {{"golden", "imagenet", 0.001, 0.01, 0.75}};
  policy.refuseEmulated = true;
  policy.statements = {{"https://spdx.dev/Document/v2.3", {"urn:legal"}}};
  policy.requireLog = true;
  policy.minWitnesses = 2;
  policy.maxAgeSeconds = 31536000;
  policy.maxRecallAgeSeconds = 86400;
  expectGolden(at("policy-full.json"), toCanonicalJson(policy.toJson()).value());
  EXPECT_EQ(signing::Policy::load(at("policy-full.json"))->toJson(), policy.toJson());
}

TEST(Golden, PolicyThatNamesDevices) {
  signing::Policy policy{"devices", false, {"*"}, 1, 1, {"*"}, {"*"}, true};
  policy.checkDevices = {CheckedOn::kHardware, CheckedOn::kSoftware, CheckedOn::kEmulated};
  expectGolden(at("policy-devices.json"), toCanonicalJson(policy.toJson()).value());
  EXPECT_EQ(signing::Policy::load(at("policy-devices.json"))->toJson(), policy.toJson());
}

TEST(Golden, VerificationSummary) {
  keepsItsForm("vsa.json", VerificationSummary{.verifierId = "urn:kiln:builder:test",
                                               .verifierVersion = "0.1.0",
                                               .timeVerified = parseRfc3339("2026-11-20T06:00:00Z").value(),
                                               .artifact = Digest{digestOf("artifact").hash, 0},
                                               .policyUri = "urn:kiln:policy:production",
                                               .policy = Digest{digestOf("policy").hash, 0},
                                               .from = {Digest{digestOf("a provenance").hash, 0}},
                                               .buildLevel = 2,
                                               .builders = {"w1 (acme)", "w2 (acme)"},
                                               .operators = {"acme"}});
}

TEST(Golden, VerificationSummaryOfWhatFailed) {
  keepsItsForm("vsa-failed.json",
               VerificationSummary{.verifierId = "urn:kiln:builder:test",
                                   .verifierVersion = "0.1.0",
                                   .timeVerified = parseRfc3339("2026-11-20T06:00:00Z").value(),
                                   .artifact = Digest{digestOf("artifact").hash, 0},
                                   .policyUri = "urn:kiln:policy:production",
                                   .policy = Digest{digestOf("policy").hash, 0},
                                   .from = {Digest{digestOf("a provenance").hash, 0}},
                                   .buildLevel = 1,
                                   .builders = {"w1 (acme)"},
                                   .operators = {"acme"},
                                   .failed = {"minOperators", "requireCheck"}});
}

TEST(Golden, Recall) {
  const TimePoint now = parseRfc3339("2026-11-20T06:00:00Z").value();
  const signing::Recall recall{signing::RecallKind::kWorker,
                               "w3",
                               "disk faults",
                               now,
                               now - std::chrono::days(2),
                               now,
                               {{"log.example", 17, 42}},
                               {Digest{digestOf("a provenance").hash, 0}},
                               true};
  keepsItsForm("recall.json", recall);
}

TEST(Golden, RecallLog) {
  const signing::TreeHash hash = digestOf("a leaf").hash;
  keepsItsForm("recall-log.json",
               signing::RecallLog{"log.example\n7\n" + toBase64(hash) + "\n\n",
                                  {{3, toBase64(hash), "a signature", {hash, digestOf("a node").hash}}}});
}

// The payload of a recalls.json; its signatures are random.
TEST(Golden, Recalls) {
  const TimePoint now = parseRfc3339("2026-11-20T06:00:00Z").value();
  if (testing_support::acceptsGolden()) {
    const std::array keys{signing::PrivateKey::create().value()};
    const auto recall =
        signing::Recall::fromJson(parseCanonicalJson(readGolden(at("recall.json"))).value()).value();
    const auto text =
        signing::Recalls::issue(nullptr, recall, keys, now, now + std::chrono::days(7), "").value();
    testing_support::writeGolden(at("recalls.json"),
                                 signing::parseEnvelope(text, signing::kRecallsPayload)->payload);
  }
  // Under any key that the root might list, it reads the same.
  const signing::PrivateKey key = signing::PrivateKey::create().value();
  const auto outer =
      signing::signEnvelope(signing::kRecallsPayload, readGolden(at("recalls.json")), key).value();
  signing::TrustRoot root = signing::developmentRoot(key.publicKey(), "urn:b", now);
  root.recallKeys = signing::RecallKeys{{1, {key.publicKey()}}, 1, 100};
  const auto read = signing::Recalls::parse(outer.toJson().dump(), root);
  ASSERT_FALSE(read) << "the entry was signed by another key";
  EXPECT_NE(read.error().message.find("recalls.entries[0]"), std::string::npos) << read.error().message;
}

// Its keys are random, too: what is committed is read and written back.
TEST(Golden, RootWithEveryMember) {
  if (testing_support::acceptsGolden()) {
    const auto key = signing::PrivateKey::create().value();
    testing_support::writeGolden(at("root-full.json"),
                                 toCanonicalJson(testing_support::fullRoot(key).toJson()).value());
  }
  const auto root = signing::TrustRoot::parse(readGolden(at("root-full.json")));
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(toCanonicalJson(root->toJson()).value(), readGolden(at("root-full.json")));
}

}  // namespace
}  // namespace kiln
