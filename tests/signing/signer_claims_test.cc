// What kiln-signer believes of checks and of tunings: what the receipts of their workers prove.
#include <gtest/gtest.h>

#include <functional>

#include "manifest/artifact/media_types.h"
#include "signing/server/check_claim.h"
#include "signing/server/local_signer.h"
#include "storage/action/compiler_action.h"
#include "tests/signing/farm_fixture.h"
#include "tests/support/sample_tuning.h"

namespace kiln::signing {
namespace {

// What the signer believes of a check: the receipt that the statement names, about this artifact and this
// report.
struct CheckClaimTest : ::testing::Test {
  Farm farm;
  std::string receipt;
  CheckStatement check = farm.check(false, &receipt);

  Result<std::string> sign() {
    return farm.signer.sign(
        {"default", checkStatement(farm.artifact, check).value(), farm.artifact.size, {receipt}});
  }
  void expectRefused(const std::string& part) {
    const auto bundle = sign();
    ASSERT_FALSE(bundle);
    EXPECT_EQ(bundle.error().code, Code::kFailedPrecondition);
    EXPECT_NE(bundle.error().message.find(part), std::string::npos) << bundle.error().message;
  }
};

TEST_F(CheckClaimTest, SignsWhatTheReceiptProves) {
  const auto bundle = sign();
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(*sign(), *bundle) << "once and for all";
}

TEST_F(CheckClaimTest, AReportThatTheWorkerDidNotMake) {
  check.report["passed"] = true;
  check.report["items"][0]["passed"] = true;
  expectRefused("another report");
}

TEST_F(CheckClaimTest, AnEmulatedDeviceIsGivenCodeForTheArtifactsLayersAndNothingElseIs) {
  const std::string layer = farm.manifest.program.digest.hex() + ".so";
  check = farm.check(true, &receipt, true, layer);
  const auto bundle = sign();
  EXPECT_TRUE(bundle) << bundle.error().message;
  check = farm.check(true, &receipt, false, layer);
  expectRefused("besides the artifact");
  check = farm.check(true, &receipt, true, digestOf("another program").hex() + ".so");
  expectRefused("besides the artifact");
}

TEST_F(CheckClaimTest, AReportNamesAGpuIfTheArtifactHasKernelsForOneAndElseNot) {
  check = farm.check(true, &receipt, false, "", {{"name", "a GPU"}, {"computeCapability", "9.0"}});
  expectRefused("names a GPU, but the artifact has no kernels");
  check = farm.check(true, &receipt, false, "", "a GPU");
  expectRefused("report.device.gpu");
  check = farm.check(true, &receipt);
  Closure closure;
  closure.oci.layers = {{"kernels/sm_90a.cubin", kCubinMediaType, digestOf("kernels")}};
  const std::string instance = "default";
  const std::vector<std::string> receipts{receipt};
  const Status refused = checkClaim(
      {farm.store, instance, receipts, farm.authority.certificate(), farm.clock.now()}, check, closure);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the report names none"), std::string::npos)
      << refused.error().message;
}

TEST_F(CheckClaimTest, AnotherWorkerPlanOrReceipt) {
  check.worker = "w9";
  expectRefused("another worker");
  check = farm.check(false, &receipt);
  check.plan = farm.put("{\"runs\":1}");
  expectRefused("this artifact with this plan");
  check = farm.check(false, &receipt);
  check.receipt = digestOf("x");
  expectRefused("the one receipt that it names");
}

// What the signer believes of a tuning: the receipt that the statement names, about this record of this plan.
struct TuneClaimTest : ::testing::Test {
  Farm farm;
  KernelPlan plan = testing_support::samplePlan();
  TuningRecord record = testing_support::sampleRecord();
  TuneStatement tune = testing_support::sampleTune();

  Digest put(const Json& json) { return farm.put(toCanonicalJson(json).value()); }

  // Signs what this record and plan make, but for what `change` does to the statement.
  Result<std::string> sign(const std::function<void(TuneStatement&)>& change = [](TuneStatement&) {}) {
    const Digest recordBlob = put(record.toJson());
    tune.plan = put(plan.toJson());
    CompileSpec spec = testing_support::sampleSpec();
    const auto built = storage::buildTuneAction(spec, {{kKernelPlanFile, tune.plan}}, 60);
    for (const storage::UploadItem& item : built->blobs) farm.put(item.bytes);
    tune.action = built->action;
    Receipt receipt{tune.action, "lease", 1, tune.worker, tune.operatorName, 0, farm.sandboxPolicy, {}};
    receipt.outputs.push_back({"output/record.json", recordBlob});
    const PrivateKey workerKey = PrivateKey::create().value();
    const Certificate certificate =
        farm.authority.issue(tune.worker, tune.operatorName, workerKey.publicKey(), farm.clock.now()).value();
    const std::string document =
        receiptDocument(makeReceipt(receipt, workerKey).value(), certificate).value();
    tune.receipt = digestOf(document);
    TuneStatement said = tune;
    change(said);
    return farm.signer.sign(
        {"default", tuneStatement(recordBlob, said).value(), recordBlob.size, {document}});
  }
  void expectRefused(const Result<std::string>& bundle, const std::string& part) {
    ASSERT_FALSE(bundle) << part;
    EXPECT_EQ(bundle.error().code, Code::kFailedPrecondition);
    EXPECT_NE(bundle.error().message.find(part), std::string::npos) << bundle.error().message;
  }
};

TEST_F(TuneClaimTest, SignsWhatTheReceiptProves) {
  const auto bundle = sign();
  ASSERT_TRUE(bundle) << bundle.error().message;
}

TEST_F(TuneClaimTest, AnythingElseIsRefused) {
  expectRefused(sign([](TuneStatement& said) { said.faster = 2; }), "does not sum up the record");
  expectRefused(sign([](TuneStatement& said) { said.deviceName = "another"; }), "does not sum up the record");
  expectRefused(sign([](TuneStatement& said) { said.worker = "w9"; }), "another worker");
  expectRefused(sign([&](TuneStatement& said) { said.action = farm.action; }), "another action");
  expectRefused(sign([](TuneStatement& said) { said.receipt = digestOf("x"); }), "the one receipt");
  KernelPlan other = plan;
  other.kernels[1].count = 2;
  const Digest otherPlan = put(other.toJson());
  expectRefused(sign([&](TuneStatement& said) { said.plan = otherPlan; }), "does not tune this plan");
  plan.kernels.pop_back();
  expectRefused(sign(), "which the program does not have");
}

}  // namespace
}  // namespace kiln::signing
