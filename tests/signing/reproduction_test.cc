// Reproduction statements: what the signer wants of one, and what it counts for when an artifact is verified.
#include "manifest/statement/reproduction.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "manifest/statement/sandbox_policy.h"
#include "signing/bundle/bundle.h"
#include "signing/verify/verify.h"
#include "tests/signing/farm_fixture.h"

namespace kiln::signing {
namespace {

struct ReproductionTest : ::testing::Test {
  Farm farm;
  std::vector<std::string> receipt;  // of worker w3, who made the artifact again
  Reproduction again;
  Policy policy =
      Policy::parse(R"({"apiVersion":"kiln/v1","kind":"Policy","name":"test","allowDevelopment":true,
    "builderIds":["*"],"minBuilders":3,"minOperators":3,"targets":["*"],"toolchains":["*"]})")
          .value();
  std::map<std::string, std::string> files{{"manifest.json", farm.manifestText},
                                           {"program.so", testing_support::kSampleProgram},
                                           {"weights/0000.bin", testing_support::kSampleWeights}};
  std::vector<std::string> bundles{farm.sign()};

  ReproductionTest() {
    again.rebuilderId = kBuilderId;
    again.worker = "w3";
    again.operatorName = "third";
    again.invocationId = "job-2";
    again.compile = farm.action;
    again.manifest = digestOf(farm.manifestText);
    again.sandboxPolicy = farm.sandboxPolicy;
    again.startedOn = again.finishedOn = farm.clock.now();
    testify(farm.goodReceipt());
  }

  void testify(Receipt said) {
    const PrivateKey key = PrivateKey::create().value();
    said.worker = "w3";
    said.operatorName = "third";
    const auto certificate = farm.authority.issue("w3", "third", key.publicKey(), farm.clock.now()).value();
    receipt = {receiptDocument(makeReceipt(said, key).value(), certificate).value()};
    again.receipt = digestOf(receipt.front());
  }
  std::string statement() const { return reproductionStatement(farm.artifact, again).value(); }
  Result<std::string> sign() {
    return farm.signer.sign({"default", statement(), farm.artifact.size, receipt});
  }
  // The receipt names the document of a cluster.
  void inCluster() {
    Receipt said = farm.goodReceipt();
    said.sandboxPolicy = again.sandboxPolicy =
        farm.put(toCanonicalJson(ClusterSandbox{"c.example:443", "", {}}.toJson()).value());
    testify(said);
  }
  void expectRefused(const std::string& part) {
    const auto bundle = sign();
    ASSERT_FALSE(bundle) << part;
    EXPECT_EQ(bundle.error().code, Code::kFailedPrecondition);
    EXPECT_NE(bundle.error().message.find(part), std::string::npos) << bundle.error().message;
  }
  // By an auditor's key, as kiln rebuild --offline signs.
  std::string signedBy(const PrivateKey& key) const {
    return makeBundle(signEnvelope(kInTotoPayload, statement(), key).value(), key.publicKey()).value();
  }
  Verdict verify() {
    return verifyArtifact({farm.ociText, farm.artifact,
                           [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) -> Status {
                             const auto found = files.find(file.path);
                             return found == files.end() ? fail(Code::kNotFound, "missing")
                                                         : sink(asBytes(found->second));
                           },
                           bundles},
                          farm.root, policy, farm.clock);
  }
};

TEST_F(ReproductionTest, SaysWhoseSandboxItWas) {
  again.sandbox = "reapi-cluster/1";
  expectRefused("names another sandbox");
  inCluster();
  EXPECT_TRUE(sign());
  again.sandbox = "";
  expectRefused("names another sandbox");
}

TEST_F(ReproductionTest, GoesThroughJsonUnchangedAndNamesWhatIsWrong) {
  again.reference = digestOf("reference");
  again.fixtures = digestOf("fixtures");
  again.absent = {{"bin/ptxas", digestOf("ptxas")}};
  const auto read = Reproduction::fromJson(again.toJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, again);
  const auto members = again.toJson();
  for (const auto& [name, value] : members.items()) {
    Json damaged = members;
    damaged[name] = 7;
    const auto refused = Reproduction::fromJson(damaged);
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().message.find(name), std::string::npos) << refused.error().message;
  }
  Json more = members;
  more["verdict"] = "good";
  EXPECT_FALSE(Reproduction::fromJson(more));
  again.reference.reset();
  EXPECT_FALSE(reproductionStatement(farm.artifact, again)) << "fixtures that nothing made";
}

TEST_F(ReproductionTest, TheSignerSignsWhatAReceiptProves) {
  const auto bundle = sign();
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_TRUE(verifyEnvelope(parseBundle(*bundle)->envelope, std::array{farm.key.publicKey()}));
  EXPECT_EQ(*sign(), *bundle);
}

TEST_F(ReproductionTest, TheSignerRefusesEverythingElse) {
  const Reproduction good = again;
  const auto receipts = receipt;
  const auto restore = [&] {
    again = good;
    receipt = receipts;
  };
  receipt.clear();
  expectRefused("the one receipt");
  restore();
  again.receipt.reset();
  expectRefused("the one receipt");
  restore();
  again.worker = "w9";
  expectRefused("another worker");
  restore();
  again.compile = digestOf("another action");
  expectRefused("another action");
  restore();
  again.manifest = digestOf("another manifest");
  expectRefused("another Manifest");
  restore();
  again.sandboxPolicy = digestOf("another policy");
  expectRefused("another sandbox policy");
  restore();
  again.reference = again.fixtures = digestOf("fixtures");
  expectRefused("neither fixtures");
  restore();
  again.absent = {{"bin/ptxas", digestOf("ptxas")}};
  expectRefused("absent");
  restore();
  Receipt other = farm.goodReceipt();
  other.outputs[2].digest = digestOf("other code");
  testify(other);
  expectRefused("program.so");
  Receipt failed = farm.goodReceipt();
  failed.exitCode = 1;
  testify(failed);
  expectRefused("its run failed");
}

TEST_F(ReproductionTest, CountsAsABuilderOnce) {
  EXPECT_FALSE(verify().passed) << "two builders of two operators";
  bundles.push_back(sign().value());
  const Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed) << verdict.status().error().message;
  ASSERT_EQ(verdict.reproductions.size(), 1u);
  EXPECT_EQ(verdict.reproductions[0], again);
  bundles.push_back(bundles.back());
  policy.minBuilders = 4;
  EXPECT_FALSE(verify().passed) << "the same statement twice is one builder";
}

TEST_F(ReproductionTest, AnUnknownKeyNeverHelps) {
  const PrivateKey auditor = PrivateKey::create().value();
  again.rebuilderId = "urn:auditor";
  again.receipt.reset();
  bundles.push_back(signedBy(auditor));
  Verdict verdict = verify();
  EXPECT_FALSE(verdict.passed);
  EXPECT_TRUE(verdict.reproductions.empty());
  // In the root, but speaking for somebody else.
  const TrustRoot own = developmentRoot(auditor.publicKey(), "urn:another", farm.clock.now());
  farm.root.keys.push_back(own.keys[0]);
  farm.root.builders.push_back(own.builders[0]);
  EXPECT_FALSE(verify().passed);
  farm.root.builders.back().id = "urn:auditor";
  EXPECT_TRUE(verify().passed);
  // Accepted by the root, not by the policy.
  policy.builderIds = {kBuilderId};
  EXPECT_FALSE(verify().passed);
}

TEST_F(ReproductionTest, AnAuditorIsOneBuilderWhateverNamesItStates) {
  const PrivateKey auditor = PrivateKey::create().value();
  const TrustRoot own = developmentRoot(auditor.publicKey(), "urn:auditor", farm.clock.now());
  farm.root.keys.push_back(own.keys[0]);
  farm.root.builders.push_back(own.builders[0]);
  again.rebuilderId = "urn:auditor";
  again.receipt.reset();
  policy.minBuilders = 4;
  policy.minOperators = 4;
  for (const char* name : {"a", "b", "c"}) {
    again.worker = again.operatorName = name;
    bundles.push_back(signedBy(auditor));
  }
  EXPECT_FALSE(verify().passed);
  policy.minBuilders = policy.minOperators = 3;
  EXPECT_TRUE(verify().passed);
}

TEST_F(ReproductionTest, MustBeAboutThisArtifactAndItsAction) {
  again.compile = digestOf("another action");
  bundles.push_back(signedBy(farm.key));
  EXPECT_FALSE(verify().passed) << "not the action that the provenance names";
  again.compile = farm.action;
  again.manifest = digestOf("another manifest");
  bundles.back() = signedBy(farm.key);
  EXPECT_EQ(verify().status().error().code, Code::kDataLoss);
  bundles = {signedBy(farm.key)};
  EXPECT_FALSE(verify().passed) << "no provenance";
}

}  // namespace
}  // namespace kiln::signing
