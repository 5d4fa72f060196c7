// What recalls and a log's order do to a verdict.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "manifest/statement/reproduction.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/vsa.h"
#include "signing/bundle/bundle.h"
#include "signing/verify/verify.h"
#include "tests/signing/farm_fixture.h"
#include "tests/support/signed_root.h"
#include "tests/support/witnessed_log.h"

namespace kiln::signing {
namespace {

struct RecalledTest : ::testing::Test {
  Farm farm;
  Policy policy{"test", true, {"*"}, 1, 1, {"*"}, {"*"}};
  std::vector<PrivateKey> keys = testing_support::newKeys(2);
  std::vector<std::string> bundles{farm.sign()};
  std::optional<Recalls> recalls;
  testing_support::WitnessedLog log;

  RecalledTest() { farm.root.recallKeys = RecallKeys{testing_support::thresholdOf(1, keys), 2, 10}; }

  // That a third operator made the artifact again.
  Reproduction reproduction() const {
    Reproduction again;
    again.rebuilderId = kBuilderId;
    again.worker = "w3";
    again.operatorName = "third";
    again.invocationId = "job-2";
    again.compile = farm.action;
    again.manifest = digestOf(farm.manifestText);
    again.sandboxPolicy = farm.sandboxPolicy;
    again.receipt = digestOf("a receipt");
    again.startedOn = again.finishedOn = farm.clock.now();
    return again;
  }
  void recall(RecallKind kind, const std::string& what, std::vector<Digest> listed = {}) {
    const bool whole = listed.empty();
    const Recall one{kind, what, "found bad", farm.clock.now(), {}, {}, {}, std::move(listed), whole};
    recalls = Recalls::parse(Recalls::issue(recalls ? &*recalls : nullptr, one, keys, farm.clock.now(),
                                            farm.clock.now() + std::chrono::days(7), "")
                                 .value(),
                             farm.root)
                  .value();
  }
  Verdict verify() {
    const std::map<std::string, std::string> files{{"manifest.json", farm.manifestText},
                                                   {"program.so", testing_support::kSampleProgram},
                                                   {"weights/0000.bin", testing_support::kSampleWeights}};
    VerifyRequest request{farm.ociText,
                          {},
                          [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) {
                            return sink(asBytes(files.at(file.path)));
                          },
                          bundles};
    return verifyArtifact(request, farm.root, policy, farm.clock, {{}, recalls ? &*recalls : nullptr});
  }
  void expectRefused(const std::string& part) {
    const Status status = verify().status();
    ASSERT_FALSE(status) << part;
    EXPECT_EQ(status.error().code, Code::kPermissionDenied);
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
  }
  // The provenance signed again, as by the farm's key, with changes that the test has made.
  std::string forge() const {
    const std::string text = provenanceStatement(farm.artifact, farm.provenance).value();
    return makeBundle(signEnvelope(kInTotoPayload, text, farm.key).value(), farm.key.publicKey()).value();
  }
};
struct AttackCases : RecalledTest {};

TEST_F(RecalledTest, ContentCondemnsWhateverDerivesFromIt) {
  const CompileSpec& spec = farm.manifest.spec;
  for (const auto& [kind, digest] : {std::pair{RecallKind::kToolchain, spec.toolchainDigest},
                                     {RecallKind::kSource, spec.files[0].digest},
                                     {RecallKind::kArtifact, farm.artifact}}) {
    recalls.reset();
    EXPECT_TRUE(verify().passed);
    recall(kind, digest.text());
    expectRefused("recalls: ");
    expectRefused("found bad");
  }
  recalls.reset();
  recall(RecallKind::kComponent, digestOf("a bad ptxas").text(), {{spec.toolchainDigest.hash, 0}});
  expectRefused("component");
  recalls.reset();
  recall(RecallKind::kToolchain, digestOf("another toolchain").text());
  EXPECT_TRUE(verify().passed);
}

TEST_F(RecalledTest, LiftingBringsItBack) {
  recall(RecallKind::kArtifact, farm.artifact.text());
  ASSERT_FALSE(verify().passed);
  recall(RecallKind::kLift, recalls->entries[0].id().text());
  EXPECT_TRUE(verify().passed);
}

TEST_F(RecalledTest, EvidenceOfAWorkerIsTakenAwayAndPolicyDecidesOnTheRest) {
  policy.minBuilders = policy.minOperators = 2;
  ASSERT_TRUE(verify().passed);
  recall(RecallKind::kWorker, "w1");
  expectRefused("policy minBuilders: 1 of 2: w2 (other)");
  policy.minBuilders = policy.minOperators = 1;
  Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed);
  ASSERT_EQ(verdict.statements[0].builders.size(), 1u);
  recall(RecallKind::kOperator, "other");
  expectRefused("no statement that the trust root accepts");
  // A fresh rebuild by somebody else restores.
  farm.provenance.builders = {{"w9", "third", digestOf("receipt")}};
  bundles.push_back(forge());
  EXPECT_TRUE(verify().passed);
}

TEST_F(RecalledTest, ListedEvidenceIsThatAlone) {
  const Digest payload{digestOf(parseBundle(bundles[0])->envelope.payload).hash, 0};
  farm.provenance.invocationId = "job-2";
  bundles.push_back(forge());
  recall(RecallKind::kKey, farm.key.publicKey().id(), {payload});
  Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed);
  ASSERT_EQ(verdict.statements.size(), 1u);
  EXPECT_EQ(verdict.statements[0].invocationId, "job-2");
  recalls.reset();
  recall(RecallKind::kKey, farm.key.publicKey().id());
  expectRefused("found bad (key");
}

TEST_F(RecalledTest, ASourceUrlTakesItsProvenanceAway) {
  farm.provenance.resolvedDependencies[1].uri = "git+https://host/repo@0123#m.onnx";
  bundles.push_back(forge());
  recall(RecallKind::kSourceUrl, "git+https://host/repo");
  Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed) << "the same bytes from elsewhere";
  EXPECT_EQ(verdict.statements.size(), 1u);
  bundles.erase(bundles.begin());
  expectRefused("source-url");
}

TEST_F(RecalledTest, EveryPlaceThatNamesASourceCounts) {
  const std::string uri = "git+https://host/repo@0123#m.onnx";
  const Provenance good = farm.provenance;
  recall(RecallKind::kSourceUrl, "git+https://host/repo");
  const std::vector<std::function<void(Provenance&)>> places{
      [&](Provenance& one) { one.resolvedDependencies[1].uri = uri; },
      [&](Provenance& one) { one.resolvedDependencies[1].annotations["claimedOrigin"] = uri; },
      [&](Provenance& one) { one.externalParameters["modelSource"] = uri; }};
  for (const auto& name : places) {
    farm.provenance = good;
    name(farm.provenance);
    bundles = {forge()};
    expectRefused("source-url");
  }
  farm.provenance.externalParameters["modelSource"] = "git+https://host/another@0123#m.onnx";
  bundles = {forge()};
  EXPECT_TRUE(verify().passed);
}

// Whatever kind of statement it is, one that was listed does not count.
TEST_F(RecalledTest, EveryKindOfStatementCanBeRecalled) {
  const Reproduction again = reproduction();
  std::string receipt;
  const Tombstone tombstone{.builderId = kBuilderId,
                            .reason = "the licence ended",
                            .issuedOn = farm.clock.now(),
                            .statements = {Digest{digestOf("a provenance").hash, 0}}};
  VerificationSummary summary;
  summary.verifierId = kBuilderId;
  summary.verifierVersion = "0.1.0";
  summary.timeVerified = farm.clock.now();
  summary.artifact = farm.artifact;
  summary.policyUri = "urn:kiln:policy:test";
  summary.builders = {"w1 (acme)"};
  summary.operators = {"acme"};
  const Statement note{{{"artifact.json", farm.artifact.hash}}, "urn:example:note", Json::object()};
  const std::vector<std::string> texts{checkStatement(farm.artifact, farm.check(true, &receipt)).value(),
                                       reproductionStatement(farm.artifact, again).value(),
                                       tombstoneStatement(farm.artifact, tombstone).value(),
                                       verificationStatement(summary).value(),
                                       toCanonicalJson(note.toJson()).value()};
  const auto others = [&] {
    const Verdict verdict = verify();
    EXPECT_TRUE(verdict.passed);
    return verdict.checks.size() + verdict.reproductions.size() + verdict.tombstones.size() +
           verdict.attestations.size();
  };
  for (const std::string& text : texts) {
    recalls.reset();
    bundles.resize(1);
    bundles.push_back(
        makeBundle(signEnvelope(kInTotoPayload, text, farm.key).value(), farm.key.publicKey()).value());
    EXPECT_EQ(others(), 1u) << text;
    recall(RecallKind::kKey, farm.key.publicKey().id(), {{digestOf(text).hash, 0}});
    EXPECT_EQ(others(), 0u) << text;
    recalls.reset();
    recall(RecallKind::kKey, farm.key.publicKey().id(), {{digestOf("another").hash, 0}});
    EXPECT_EQ(others(), 1u) << text;
  }
}

// What it did on a device, or by a worker, that was found bad.
TEST_F(RecalledTest, AWorkersChecksAndReproductionsAreTakenAway) {
  std::string receipt;
  const std::string text = checkStatement(farm.artifact, farm.check(true, &receipt)).value();
  bundles.push_back(
      makeBundle(signEnvelope(kInTotoPayload, text, farm.key).value(), farm.key.publicKey()).value());
  EXPECT_EQ(verify().checks.size(), 1u);
  recall(RecallKind::kWorker, "w3");
  EXPECT_TRUE(verify().checks.empty());
  EXPECT_TRUE(verify().passed);
  const Verdict unknown = [&] {
    const auto kept = std::exchange(recalls, std::nullopt);
    const Verdict verdict = verify();
    recalls = kept;
    return verdict;
  }();
  EXPECT_TRUE(std::ranges::any_of(unknown.lines, [](const VerdictLine& line) {
    return line.ok && line.check == "recalls" && line.detail == "none are known here";
  }));
  recalls.reset();
  recall(RecallKind::kWorker, "w4");
  EXPECT_EQ(verify().checks.size(), 1u);
}

TEST_F(RecalledTest, NewsMustNotBeTooOld) {
  policy.maxRecallAgeSeconds = 3600;
  expectRefused("policy maxRecallAgeSeconds");
  recall(RecallKind::kWorker, "w9");
  EXPECT_TRUE(verify().passed);
  farm.clock.set(farm.clock.now() + std::chrono::hours(2));
  expectRefused("policy maxRecallAgeSeconds");
  policy.maxRecallAgeSeconds = 30 * 86400;
  EXPECT_TRUE(verify().passed);
  farm.clock.set(recalls->expires - std::chrono::seconds(1));
  EXPECT_TRUE(verify().passed);
  farm.clock.set(recalls->expires);
  expectRefused("that has not expired is not known");
}

TEST_F(AttackCases, Case12TheLogsOrderDecidesAboutARevokedKey) {
  log.trust(farm.root);
  const std::string early = log.add(bundles[0], farm.key.publicKey(), farm.clock.now());
  farm.provenance.invocationId = "job-2";
  const std::string late = log.add(forge(), farm.key.publicKey(), farm.clock.now());
  farm.root.revocations = {{farm.key.publicKey().id(), farm.clock.now(), "stolen", {{"log.example", 1}}}};
  bundles = {early};
  EXPECT_TRUE(verify().passed) << "in the log before the key was stolen";
  bundles = {late};
  expectRefused("entry 1 of log.example, does not prove");
  bundles = {early, late};
  EXPECT_EQ(verify().statements.size(), 1u);
  farm.root.logs.clear();  // a log that nobody trusts any more says nothing
  expectRefused("without a place in a log");
}

TEST_F(AttackCases, Case12AnExpiredKeysStatementCountsIfWitnessesSawItInTime) {
  log.trust(farm.root);
  const TimePoint then = farm.clock.now();
  bundles = {log.add(bundles[0], farm.key.publicKey(), then)};
  farm.root.keys[0].validUntil = then + std::chrono::days(1);
  farm.clock.set(then + std::chrono::days(2));
  const Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.cosigned, then) << "what a client remembers";
  farm.root.keys[0].validUntil = then;
  expectRefused("and witnesses saw the statement on");
}

// A stolen key, and one witness who helps: where the policy wants two, the other one's time counts.
TEST_F(AttackCases, Case12OneWitnessAloneDoesNotPutAStatementBeforeTheTheft) {
  log.trust(farm.root);
  const TimePoint now = farm.clock.now(), before = now - std::chrono::minutes(30);
  farm.root.revocations = {{farm.key.publicKey().id(), now - std::chrono::minutes(1), "stolen", {}}};
  const std::string bundle = bundles[0];
  policy.requireLog = true;
  policy.minWitnesses = 2;
  bundles = {log.add(bundle, farm.key.publicKey(), before, now)};
  expectRefused("was revoked");
  bundles = {log.add(bundle, farm.key.publicKey(), before)};
  expectRefused("was revoked");
  bundles = {log.add(bundle, farm.key.publicKey(), before, before)};
  EXPECT_TRUE(verify().passed);
  policy.minWitnesses = 1;
  bundles = {log.add(bundle, farm.key.publicKey(), before, now)};
  const Verdict verdict = verify();
  EXPECT_TRUE(verdict.passed) << "the policy takes one witness's word";
  EXPECT_EQ(verdict.cosigned, before);
}

TEST_F(AttackCases, Case16AnEntryOfAnotherSignatureFailsTheArtifact) {
  log.trust(farm.root);
  const std::string mine = bundles[0];
  farm.provenance.invocationId = "job-2";
  const std::string other = log.add(forge(), farm.key.publicKey(), farm.clock.now());
  Json json = Json::parse(mine);
  json["verificationMaterial"]["tlogEntries"] = Json::parse(other)["verificationMaterial"]["tlogEntries"];
  bundles = {json.dump()};
  const Status status = verify().status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kDataLoss);
}

TEST_F(RecalledTest, APolicyMayWantLogAndWitnesses) {
  log.trust(farm.root);
  policy.requireLog = true;
  policy.minWitnesses = 1;
  expectRefused("policy requireLog");
  bundles = {log.add(bundles[0], farm.key.publicKey(), farm.clock.now())};
  EXPECT_TRUE(verify().passed);
  const auto validUntil = std::exchange(farm.root.logs[0].validUntil, farm.clock.now());
  expectRefused("policy requireLog");  // the log's key was not valid when witnesses saw it
  farm.root.logs[0].validUntil = validUntil;
  policy.minWitnesses = 2;
  expectRefused("policy minWitnesses: cosigned by 1 of the 2 witnesses");
  std::string receipt;
  const std::string text = checkStatement(farm.artifact, farm.check(true, &receipt)).value();
  const std::string check =
      makeBundle(signEnvelope(kInTotoPayload, text, farm.key).value(), farm.key.publicKey()).value();
  policy.minWitnesses = 1;
  policy.requireCheck = true;
  bundles.push_back(check);
  expectRefused("policy requireCheck");
  bundles.back() = log.add(check, farm.key.publicKey(), std::nullopt);
  expectRefused("policy requireCheck");
  const auto lines = verify().lines;
  EXPECT_TRUE(std::ranges::any_of(lines, [](const VerdictLine& line) {
    return line.ok && line.check == "bundle 2" &&
           line.detail.starts_with("not counted: the policy wants it in a log");
  }));
  bundles.back() = log.add(check, farm.key.publicKey(), farm.clock.now());
  EXPECT_TRUE(verify().passed);
}

// A verifier whose clock was turned back does not take its own verdict back.
TEST_F(RecalledTest, OfTwoVerdictsTheLaterEntryOfTheLogCounts) {
  log.trust(farm.root);
  const auto said = [&](std::vector<std::string> failed, std::chrono::seconds later) {
    VerificationSummary summary;
    summary.verifierId = kBuilderId;
    summary.verifierVersion = "0.1.0";
    summary.timeVerified = farm.clock.now() + later;
    summary.artifact = farm.artifact;
    summary.policyUri = "urn:kiln:policy:test";
    summary.builders = {"w1 (acme)"};
    summary.operators = {"acme"};
    summary.failed = std::move(failed);
    const std::string text = verificationStatement(summary).value();
    const std::string bundle =
        makeBundle(signEnvelope(kInTotoPayload, text, farm.key).value(), farm.key.publicKey()).value();
    return log.add(bundle, farm.key.publicKey(), farm.clock.now());
  };
  policy.statements = {{kVsaType, {kBuilderId}, {Digest{}.text()}}};
  bundles.push_back(said({}, std::chrono::seconds(9)));
  EXPECT_TRUE(verify().passed);
  bundles.push_back(said({"minBuilders"}, std::chrono::seconds(0)));
  expectRefused("FAILED: minBuilders");
}

TEST_F(RecalledTest, AReproductionThatTooFewWitnessesSawIsNotCounted) {
  log.trust(farm.root);
  policy.requireLog = true;
  policy.minWitnesses = 1;
  policy.minBuilders = 3;
  const Reproduction again = reproduction();
  const std::string text = reproductionStatement(farm.artifact, again).value();
  const std::string made =
      makeBundle(signEnvelope(kInTotoPayload, text, farm.key).value(), farm.key.publicKey()).value();
  const PublicKey signer = farm.key.publicKey();
  bundles = {log.add(bundles[0], signer, farm.clock.now()), made};
  expectRefused("policy minBuilders");
  bundles[1] = log.add(made, signer, std::nullopt);
  expectRefused("policy minBuilders");
  bundles[1] = log.add(made, signer, farm.clock.now());
  const Status counted = verify().status();
  EXPECT_TRUE(counted) << counted.error().message;
}

}  // namespace
}  // namespace kiln::signing
