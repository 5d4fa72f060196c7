// What kiln-signer signs and what it refuses.
#include "signing/server/local_signer.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <thread>

#include "manifest/statement/compile_summary.h"
#include "manifest/statement/image_statement.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/vsa.h"
#include "signing/bundle/bundle.h"
#include "signing/policy/policy.h"
#include "storage/oci/image_layer.h"
#include "tests/signing/farm_fixture.h"

namespace kiln::signing {
namespace {

struct SignerTest : ::testing::Test {
  Farm farm;

  void expectRefused(Code code, const std::string& part) {
    auto bundle = farm.signer.sign(farm.request());
    ASSERT_FALSE(bundle);
    EXPECT_EQ(bundle.error().code, code) << bundle.error().message;
    EXPECT_NE(bundle.error().message.find(part), std::string::npos) << bundle.error().message;
  }
};

TEST_F(SignerTest, SignsWhatItHasChecked) {
  SignRequest request = farm.request();
  auto text = farm.signer.sign(request);
  ASSERT_TRUE(text) << text.error().message;
  Bundle bundle = parseBundle(*text).value();
  EXPECT_EQ(bundle.keyId, farm.key.publicKey().id());
  EXPECT_EQ(bundle.envelope.payload, request.statement);
  EXPECT_TRUE(verifyEnvelope(bundle.envelope, std::array{farm.key.publicKey()}));
}

TEST_F(SignerTest, ARepeatGetsTheFirstBundle) {
  std::string first = farm.sign();
  EXPECT_EQ(farm.sign(), first);
  // Also after a restart, with receipts gone and another key.
  LocalSigner again(PrivateKey::create().value(), farm.authority.certificate(), farm.records, farm.store,
                    farm.clock);
  SignRequest request = farm.request();
  request.receipts.clear();
  EXPECT_EQ(again.sign(request).value(), first);
}

TEST_F(SignerTest, ConcurrentRepeatsGetOneBundle) {
  SignRequest request = farm.request();
  std::array<std::string, 4> bundles;
  std::vector<std::thread> threads;
  for (std::string& bundle : bundles)
    threads.emplace_back([&] { bundle = farm.signer.sign(request).value(); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& bundle : bundles) EXPECT_EQ(bundle, bundles[0]);
}

TEST_F(SignerTest, OnlyCanonicalStatementsOfKnownKind) {
  SignRequest request = farm.request();
  auto codeOf = [&](std::string statement) {
    SignRequest changed = request;
    changed.statement = std::move(statement);
    return farm.signer.sign(changed).error().code;
  };
  EXPECT_EQ(codeOf("not json"), Code::kInvalidArgument);
  EXPECT_EQ(codeOf(request.statement + "\n"), Code::kInvalidArgument);
  Json json = Json::parse(request.statement);
  json["predicateType"] = "https://example.com/other";
  EXPECT_EQ(codeOf(json.dump()), Code::kInvalidArgument);
  json = Json::parse(request.statement);
  json["subject"].push_back(json["subject"][0]);
  EXPECT_EQ(codeOf(json.dump()), Code::kInvalidArgument);
  json = Json::parse(request.statement);
  json["predicate"]["buildDefinition"]["externalParameters"]["extra"] = "x";  // attack 11
  EXPECT_EQ(codeOf(json.dump()), Code::kInvalidArgument);
}

TEST_F(SignerTest, TheClosureMustBeThere) {
  for (const Digest& digest : {farm.artifact, digestOf(farm.manifestText), farm.manifest.program.digest,
                               farm.manifest.weights[0].digest, farm.action}) {
    Farm damaged;
    // The keys differ from farm to farm; the blobs of the artifact do not.
    damaged.store.forget("default", digest);
    auto bundle = damaged.signer.sign(damaged.request());
    ASSERT_FALSE(bundle);
    EXPECT_EQ(bundle.error().code, Code::kFailedPrecondition) << bundle.error().message;
  }
}

TEST_F(SignerTest, TheClosureIsRehashed) {  // attack 4
  farm.store.flipBit("default", farm.manifest.program.digest);
  expectRefused(Code::kFailedPrecondition, "program.so");
}

TEST_F(SignerTest, TheFixturesMustBeThereToo) {
  for (const std::string& content : {farm.fixtureList, farm.fixtures.at("default/output_0.npy")}) {
    Farm damaged;
    damaged.store.forget("default", digestOf(content));
    auto bundle = damaged.signer.sign(damaged.request());
    ASSERT_FALSE(bundle);
    EXPECT_EQ(bundle.error().code, Code::kFailedPrecondition) << bundle.error().message;
    Farm flipped;
    flipped.store.flipBit("default", digestOf(content));
    EXPECT_EQ(flipped.signer.sign(flipped.request()).error().code, Code::kFailedPrecondition);
  }
  farm.provenance.byproducts = {{kFixturesByproduct, "", farm.put("{}"), {}}};
  expectRefused(Code::kFailedPrecondition, "fixtures.json");
  farm.provenance.byproducts.clear();
  EXPECT_TRUE(farm.signer.sign(farm.request())) << "an artifact may be without fixtures";
}

TEST_F(SignerTest, ACompileStatementSummarisesTheManifestInTheStore) {
  const Digest config = digestOf(farm.manifestText);
  SignRequest request{
      "default", compileStatement(farm.artifact, farm.manifest, config).value(), farm.artifact.size, {}};
  const auto bundle = farm.signer.sign(request);
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(parseBundle(*bundle)->envelope.payload, request.statement);
  EXPECT_EQ(farm.signer.sign(request).value(), *bundle) << "a repeat gets the first";

  Json other = Json::parse(request.statement);
  other["predicate"]["weights"]["bytes"] = "1";
  SignRequest changed = request;
  changed.statement = toCanonicalJson(other).value();
  EXPECT_EQ(farm.signer.sign(changed).error().code, Code::kFailedPrecondition);
  other = Json::parse(request.statement);
  other["predicate"]["note"] = "more";
  changed.statement = toCanonicalJson(other).value();
  EXPECT_EQ(farm.signer.sign(changed).error().code, Code::kFailedPrecondition);

  Farm damaged;
  damaged.store.flipBit("default", config);
  EXPECT_EQ(damaged.signer.sign(request).error().code, Code::kFailedPrecondition);
}

// The image of the farm's artifact with one bundle in it.
ArtifactImage imageOf(Farm& farm) {
  const std::vector<Digest> bundles{farm.put("a bundle")};
  OciManifest oci{farm.artifact, digestOf(farm.manifestText), farm.manifest.files()};
  ArtifactImage out{farm.artifact, farm.manifest.spec.target, {}, bundles};
  for (const storage::ImageLayer& layer :
       {storage::ImageLayer::ofArtifact(oci), storage::ImageLayer::ofBundles(bundles)})
    out.layers.push_back(layer.digest(storage::readerOf(farm.store, "default")).value());
  return out;
}

TEST_F(SignerTest, AnImageStatementIsOfTheImageThatTheStoresBytesMake) {
  const ArtifactImage image = imageOf(farm);
  const auto sign = [](Farm& by, const ArtifactImage& of) {
    return by.signer.sign({"default", imageStatement(of).value(), of.artifact.size, {}});
  };
  const auto bundle = sign(farm, image);
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(parseBundle(*bundle)->envelope.payload, imageStatement(image).value());
  // Layers, bundles or an artifact that are others than it says, or not there.
  for (std::size_t layer : {0u, 1u}) {
    ArtifactImage other = image;
    other.layers[layer] = digestOf("another layer");
    EXPECT_EQ(sign(farm, other).error().code, Code::kFailedPrecondition);
  }
  ArtifactImage other = image;
  other.bundles = {farm.put("another bundle")};
  EXPECT_EQ(sign(farm, other).error().code, Code::kFailedPrecondition);
  other.bundles = {digestOf("no bundle")};
  EXPECT_EQ(sign(farm, other).error().code, Code::kFailedPrecondition);
  other = image;
  other.artifact = farm.put("no artifact");
  EXPECT_EQ(sign(farm, other).error().code, Code::kFailedPrecondition);
  Json text = Json::parse(imageStatement(image).value());
  text["subject"].erase(1);
  EXPECT_EQ(
      farm.signer.sign({"default", toCanonicalJson(text).value(), image.artifact.size, {}}).error().code,
      Code::kInvalidArgument);
}

TEST_F(SignerTest, AnImageIsMadeOfBytesThatAreRehashed) {  // attack 4
  for (const bool gone : {true, false}) {
    Farm damaged;
    const ArtifactImage image = imageOf(damaged);
    const Digest program = damaged.manifest.program.digest;
    if (gone)
      damaged.store.forget("default", program);
    else
      damaged.store.flipBit("default", program);
    const auto refused =
        damaged.signer.sign({"default", imageStatement(image).value(), image.artifact.size, {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition) << refused.error().message;
    EXPECT_NE(refused.error().message.find("image"), std::string::npos);
  }
}

TEST_F(SignerTest, AnotherTenantsBlobsDoNotCount) {
  SignRequest request = farm.request();
  request.instance = "other";
  EXPECT_EQ(farm.signer.sign(request).error().code, Code::kFailedPrecondition);
}

TEST_F(SignerTest, ParametersAreThoseOfTheManifest) {  // attack 2
  farm.provenance.externalParameters["toolchain"] = digestOf("another").text();
  expectRefused(Code::kFailedPrecondition, "externalParameters.toolchain");
  farm.provenance.externalParameters = externalParameters(farm.manifest.spec).value();
  farm.provenance.resolvedDependencies[1].digest = digestOf("another model");
  expectRefused(Code::kFailedPrecondition, "resolvedDependencies");
  farm.provenance.resolvedDependencies = dependencies(farm.manifest.spec);
  farm.provenance.resolvedDependencies.pop_back();
  expectRefused(Code::kFailedPrecondition, "resolvedDependencies");
}

TEST_F(SignerTest, InventedBuildersAreRefused) {  // attack 25
  farm.provenance.builders.push_back({"w3", "acme", digestOf("nothing")});
  expectRefused(Code::kFailedPrecondition, "2 receipts for 3 builders");
  farm.provenance.builders.erase(farm.provenance.builders.begin());
  expectRefused(Code::kFailedPrecondition, "does not name it");
}

TEST_F(SignerTest, ReceiptsOfAnotherAuthorityAreRefused) {  // attack 25
  Farm other;
  farm.receipts = other.receipts;
  farm.provenance.builders = other.provenance.builders;
  expectRefused(Code::kFailedPrecondition, "not issued by this farm's worker authority");
}

TEST_F(SignerTest, OneWorkerCountsOnce) {  // attacks 7, 21
  farm.dropBuilders();
  PrivateKey key = PrivateKey::create().value();
  farm.addBuilder("w1", "acme", farm.goodReceipt(), key);
  farm.addBuilder("w2", "acme", farm.goodReceipt(), key);  // two names, one key
  expectRefused(Code::kFailedPrecondition, "one worker counts once");
  farm.dropBuilders();
  farm.addBuilder("w1", "acme", farm.goodReceipt());
  farm.addBuilder("w1", "other", farm.goodReceipt());
  EXPECT_TRUE(farm.signer.sign(farm.request())) << "two operators' workers are two";
}

TEST_F(SignerTest, DissentIsTestifiedToByOtherWorkers) {
  auto dissent = [&](const std::string& worker, const Receipt& receipt, const std::string& named,
                     const std::string& operatorName = "third") {
    farm.addBuilder(worker, operatorName, receipt);
    std::string document = farm.receipts.back();
    farm.receipts.pop_back();
    farm.provenance.builders.pop_back();
    farm.provenance.byproducts.push_back(
        {kDissentByproduct, "", farm.put(document), {{"worker", named}, {"operator", operatorName}}});
  };
  Receipt other = farm.goodReceipt();
  other.outputs[2].digest = digestOf("another program");
  const auto before = farm.provenance.byproducts;
  dissent("w3", other, "w3");
  EXPECT_TRUE(farm.signer.sign(farm.request()));
  dissent("w1", other, "w1");
  EXPECT_TRUE(farm.signer.sign(farm.request())) << "another operator's worker of a builder's name";
  dissent("w1", other, "w1", "acme");
  expectRefused(Code::kFailedPrecondition, "both agrees and dissents");
  farm.provenance.byproducts = before;
  dissent("w3", other, "w4");
  expectRefused(Code::kFailedPrecondition, "names another worker");
  farm.provenance.byproducts = before;
  other.action = digestOf("another action");
  dissent("w3", other, "w3");
  expectRefused(Code::kFailedPrecondition, "another action");
  farm.provenance.byproducts = before;
  farm.provenance.byproducts.push_back(
      {kDissentByproduct, "", digestOf("nowhere"), {{"worker", "w3"}, {"operator", "third"}}});
  expectRefused(Code::kFailedPrecondition, "dissenting receipt");
}

TEST_F(SignerTest, TombstonesAreForProvenancesThatWereSignedHere) {
  Tombstone tombstone{.builderId = kBuilderId,
                      .reason = "r",
                      .issuedOn = farm.clock.now(),
                      .statements = {Digest{digestOf(farm.request().statement).hash, 0}}};
  auto sign = [&](const Digest& artifact) {
    return farm.signer.sign({"default", tombstoneStatement(artifact, tombstone).value(), artifact.size, {}});
  };
  EXPECT_EQ(sign(farm.artifact).error().code, Code::kFailedPrecondition) << "not signed yet";
  farm.sign();
  EXPECT_TRUE(sign(farm.artifact));
  tombstone.builderId = "urn:kiln:builder:other";
  EXPECT_EQ(sign(farm.artifact).error().code, Code::kFailedPrecondition);
  tombstone.builderId = kBuilderId;
  EXPECT_EQ(sign(farm.put("no artifact")).error().code, Code::kFailedPrecondition);
  // A tombstone is no provenance to put another one over.
  tombstone.statements = {Digest{digestOf(tombstoneStatement(farm.artifact, tombstone).value()).hash, 0}};
  EXPECT_EQ(sign(farm.artifact).error().code, Code::kFailedPrecondition);
}

TEST_F(SignerTest, AResultOfAnotherActionIsRefused) {  // attack 3
  farm.dropBuilders();
  Receipt receipt = farm.goodReceipt();
  receipt.action = digestOf("another action");
  farm.addBuilder("w1", "acme", receipt);
  expectRefused(Code::kFailedPrecondition, "internalParameters.action");
  farm.provenance.internalParameters["action"] = receipt.action.text();
  expectRefused(Code::kFailedPrecondition, "action");
  farm.addBuilder("w2", "acme", farm.goodReceipt());
  expectRefused(Code::kFailedPrecondition, "different actions");
}

TEST_F(SignerTest, ReceiptsListTheArtifactsFiles) {  // attack 1
  farm.dropBuilders();
  Receipt receipt = farm.goodReceipt();
  receipt.outputs[2].digest = digestOf("another program");
  farm.addBuilder("w1", "acme", receipt);
  expectRefused(Code::kFailedPrecondition, "program.so");
  farm.dropBuilders();
  receipt = farm.goodReceipt();
  receipt.exitCode = 1;
  farm.addBuilder("w1", "acme", receipt);
  expectRefused(Code::kFailedPrecondition, "its run failed");
}

TEST_F(SignerTest, EveryReceiptListsEveryFile) {
  for (const std::size_t file : {1u, 2u, 3u}) {
    const std::string name = farm.goodReceipt().outputs[file].path.substr(sizeof("output/") - 1);
    for (const bool missing : {false, true}) {
      Receipt receipt = farm.goodReceipt();
      if (missing)
        receipt.outputs.erase(receipt.outputs.begin() + static_cast<std::ptrdiff_t>(file));
      else
        receipt.outputs[file].digest = digestOf("other bytes");
      farm.dropBuilders();
      farm.addBuilder("w1", "acme", farm.goodReceipt());
      farm.addBuilder("w2", "acme", receipt);
      expectRefused(Code::kFailedPrecondition, "receipt of w2: ");
      expectRefused(Code::kFailedPrecondition, name);
    }
  }
}

TEST_F(SignerTest, TheSandboxPolicyIsThatOfTheReceipts) {
  farm.provenance.internalParameters["sandboxPolicy"] = digestOf("a stricter policy").text();
  expectRefused(Code::kFailedPrecondition, "internalParameters.sandboxPolicy");
  farm.provenance.internalParameters.erase("sandboxPolicy");
  expectRefused(Code::kFailedPrecondition, "internalParameters.sandboxPolicy");
  // A second policy must be stated as well.
  farm.provenance.internalParameters["sandboxPolicy"] = farm.sandboxPolicy.text();
  Receipt receipt = farm.goodReceipt();
  receipt.sandboxPolicy = farm.put(testing_support::samplePolicyText("another"));
  farm.addBuilder("w3", "acme", receipt);
  expectRefused(Code::kFailedPrecondition, "internalParameters.sandboxPolicy");
  farm.provenance.internalParameters["sandboxPolicy"] =
      sandboxPolicyText({farm.sandboxPolicy, receipt.sandboxPolicy});
  EXPECT_TRUE(farm.signer.sign(farm.request()));
}

TEST_F(SignerTest, TheSandboxPolicyIsThereToBeRead) {
  Farm flipped;
  flipped.store.flipBit("default", flipped.sandboxPolicy);
  EXPECT_EQ(flipped.signer.sign(flipped.request()).error().code, Code::kFailedPrecondition);
  farm.store.forget("default", farm.sandboxPolicy);
  expectRefused(Code::kFailedPrecondition, "sandbox policy");
}

TEST_F(SignerTest, TheActionIsTheCompileOfTheSpec) {  // attack 17
  auto useAction = [&](const Digest& action) {
    farm.action = action;
    farm.dropBuilders();
    farm.addBuilder("w1", "acme", farm.goodReceipt());
    farm.provenance.internalParameters["action"] = action.text();
  };
  CompileSpec spec = farm.manifest.spec;
  spec.toolchainDigest = digestOf("an older toolchain");  // attack 10
  useAction(farm.putAction(spec));
  expectRefused(Code::kFailedPrecondition, "another toolchain");
  spec = farm.manifest.spec;
  spec.files[0].digest = digestOf("another model");
  useAction(farm.putAction(spec));
  expectRefused(Code::kFailedPrecondition, "exactly the spec and its files");
  useAction(farm.putAction(farm.manifest.spec, {"toolchain/bin/kiln-cc", "reference"}));
  expectRefused(Code::kFailedPrecondition, "not the compile");
  useAction(farm.putAction(farm.manifest.spec));
  EXPECT_TRUE(farm.signer.sign(farm.request()));
}

TEST_F(SignerTest, ExpiredWorkersDoNotCount) {
  farm.clock.set(farm.clock.now() + std::chrono::hours(24 * 400));
  expectRefused(Code::kFailedPrecondition, "valid from");
}

// What the signer builds summaries and tombstones on: the coordinator can write to the records, so that a
// record is no signature of the signer's.
struct ForeignRecordsTest : ::testing::Test {
  Farm farm;
  const PrivateKey foreign = PrivateKey::create().value();
  const std::string root = farm.directory / "root.json";
  const Policy policy{.name = "five",
                      .allowDevelopment = true,
                      .builderIds = {"*"},
                      .minBuilders = 5,
                      .targets = {"*"},
                      .toolchains = {"*"}};
  std::vector<Digest> from;

  void write(const TrustRoot& listed) const { std::ofstream(root) << listed.toJson().dump(); }
  // As a coordinator that wants to be believed would.
  Digest record(const std::string& statement, const PrivateKey& key) {
    const Envelope envelope = signEnvelope(kInTotoPayload, statement, key).value();
    EXPECT_TRUE(farm.records.add("default", envelope, key.publicKey(), ""));
    from.push_back({digestOf(statement).hash, 0});
    return from.back();
  }
  std::string inventedProvenance() {
    for (const char* worker : {"w3", "w4", "w5"})
      farm.provenance.builders.push_back({worker, "acme", digestOf(worker)});
    return provenanceStatement(farm.artifact, farm.provenance).value();
  }
  Reproduction reproductionBy(const std::string& rebuilder) const {
    Reproduction out;
    out.rebuilderId = rebuilder;
    out.worker = "w9";
    out.operatorName = "third";
    out.compile = farm.action;
    out.manifest = digestOf(farm.manifestText);
    out.sandboxPolicy = farm.sandboxPolicy;
    out.startedOn = out.finishedOn = farm.clock.now();
    return out;
  }
  Status passes(const Policy& by, std::vector<std::string> builders, std::vector<std::string> operators,
                const std::string& trustRoot = "") {
    const std::string document = toCanonicalJson(by.toJson()).value();
    VerificationSummary summary;
    summary.verifierId = kBuilderId;
    summary.timeVerified = farm.clock.now();
    summary.artifact = farm.artifact;
    summary.policyUri = "urn:kiln:policy:five";
    summary.policy = digestOf(document);
    std::ranges::sort(from);
    summary.from = from;
    summary.builders = std::move(builders);
    summary.operators = std::move(operators);
    LocalSigner signer(farm.key, farm.authority.certificate(), farm.records, farm.store, farm.clock,
                       trustRoot);
    const auto bundle =
        signer.sign({"default", verificationStatement(summary).value(), farm.artifact.size, {document}});
    return bundle ? Status{} : fail(bundle.error());
  }
  Status passesWithFive(const std::string& trustRoot = "") {
    return passes(policy, {"w1 (acme)", "w2 (other)", "w3 (acme)", "w4 (acme)", "w5 (acme)"},
                  {"acme", "other"}, trustRoot);
  }
};

void expectUnknownKey(const Status& status) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kFailedPrecondition);
  EXPECT_NE(status.error().message.find("not signed with this signer's key"), std::string::npos)
      << status.error().message;
}

TEST_F(ForeignRecordsTest, Case25BuildersInventedUnderAThrowAwayKeyAreNotSummarised) {
  const std::string invented = inventedProvenance();
  record(invented, foreign);
  expectUnknownKey(passesWithFive());
  // A row that names the signer's key for a signature that it did not make.
  const Envelope envelope = signEnvelope(kInTotoPayload, invented, foreign).value();
  const auto forged = makeBundle(envelope, foreign.publicKey());
  Bundle bundle = parseBundle(*forged).value();
  bundle.keyId = farm.key.publicKey().id();
  expectUnknownKey(KnownKeys(farm.key.publicKey(), "").check(bundle, kBuilderId));
}

TEST_F(ForeignRecordsTest, AnEarlierKeyCountsIfTheRootListsIt) {
  record(inventedProvenance(), foreign);
  TrustRoot listed = farm.root;
  listed.keys.push_back({foreign.publicKey(), farm.clock.now(), farm.clock.now() + std::chrono::hours(1)});
  listed.builders.push_back({"urn:kiln:builder:other", {foreign.publicKey().id()}});
  write(listed);
  expectUnknownKey(passesWithFive(root));  // it speaks for somebody else
  listed.builders.pop_back();
  listed.builders[0].keys.push_back(foreign.publicKey().id());
  TrustRoot revoking = listed;
  revoking.revocations.push_back({foreign.publicKey().id(), farm.clock.now(), "stolen", {}});
  write(revoking);
  expectUnknownKey(passesWithFive(root));
  write(listed);
  const Status known = passesWithFive(root);
  EXPECT_TRUE(known) << known.error().message;
}

TEST_F(ForeignRecordsTest, NoFarmIsAnothersRebuilder) {
  record(provenanceStatement(farm.artifact, farm.provenance).value(), farm.key);
  record(reproductionStatement(farm.artifact, reproductionBy("urn:example:auditor")).value(), farm.key);
  Policy three = policy;
  three.minBuilders = 3;
  const Status invented = passes(
      three, {"urn:example:auditor (urn:example:auditor)", "w1 (acme)", "w2 (other)"}, {"acme", "other"});
  ASSERT_FALSE(invented);
  EXPECT_NE(invented.error().message.find("names builders or operators"), std::string::npos);
  record(reproductionStatement(farm.artifact, reproductionBy(kBuilderId)).value(), farm.key);
  const Status own = passes(three, {"w1 (acme)", "w2 (other)", "w9 (third)"}, {"acme", "other", "third"});
  EXPECT_TRUE(own) << own.error().message;
}

TEST_F(ForeignRecordsTest, AnAuditorsReproductionAndAForeignCheckNeedTheirKeyInTheRoot) {
  record(provenanceStatement(farm.artifact, farm.provenance).value(), farm.key);
  record(reproductionStatement(farm.artifact, reproductionBy("urn:example:auditor")).value(), foreign);
  Policy three = policy;
  three.minBuilders = 3;
  const auto judged = [&](const std::string& trustRoot) {
    return passes(three, {"urn:example:auditor (urn:example:auditor)", "w1 (acme)", "w2 (other)"},
                  {"acme", "other", "urn:example:auditor"}, trustRoot);
  };
  expectUnknownKey(judged(""));
  TrustRoot listed = farm.root;
  listed.keys.push_back({foreign.publicKey(), farm.clock.now(), farm.clock.now() + std::chrono::hours(1)});
  listed.builders.push_back({"urn:example:auditor", {foreign.publicKey().id()}});
  write(listed);
  const Status known = judged(root);
  EXPECT_TRUE(known) << known.error().message;
  std::string receipt;
  record(checkStatement(farm.artifact, farm.check(true, &receipt)).value(), foreign);
  expectUnknownKey(judged(root));
}

TEST_F(ForeignRecordsTest, TombstonesAreNotPutOverForeignProvenances) {
  const Tombstone tombstone{.builderId = kBuilderId,
                            .reason = "r",
                            .issuedOn = farm.clock.now(),
                            .statements = {record(inventedProvenance(), foreign)}};
  const auto bundle = farm.signer.sign(
      {"default", tombstoneStatement(farm.artifact, tombstone).value(), farm.artifact.size, {}});
  expectUnknownKey(bundle ? Status{} : fail(bundle.error()));
}

}  // namespace
}  // namespace kiln::signing
