// Whose sandbox each builder ran in: what the signer wants of a provenance.
#include <gtest/gtest.h>

#include "manifest/statement/sandbox_policy.h"
#include "tests/signing/farm_fixture.h"

namespace kiln::signing {
namespace {

// A third builder, in a cluster.
struct SandboxClaimTest : ::testing::Test {
  Farm farm;
  Digest cluster = farm.put(toCanonicalJson(ClusterSandbox{"c.example:443", "", {}}.toJson()).value());

  void addCluster(const Digest& policy) {
    Receipt receipt = farm.goodReceipt();
    receipt.sandboxPolicy = policy;
    farm.addBuilder("c1", "cluster", std::move(receipt));
    farm.provenance.internalParameters["sandboxPolicy"] = sandboxPolicyText({farm.sandboxPolicy, policy});
  }
  std::string refusal() {
    const auto bundle = farm.signer.sign(farm.request());
    if (bundle) return "signed";
    EXPECT_EQ(bundle.error().code, Code::kFailedPrecondition) << bundle.error().message;
    return bundle.error().message;
  }
};

TEST_F(SandboxClaimTest, AClusterIsNamedByTheBuilderThatRanThere) {
  addCluster(cluster);
  EXPECT_NE(refusal().find("receipt of c1: the provenance names another sandbox"), std::string::npos);
  farm.provenance.builders.back().sandbox = "reapi-cluster/2";
  EXPECT_NE(refusal().find("receipt of c1: the provenance names another sandbox"), std::string::npos);
  farm.provenance.builders.back().sandbox = "reapi-cluster/1";
  EXPECT_EQ(refusal(), "signed");
}

TEST_F(SandboxClaimTest, WhoRanInKilnsSandboxNamesNone) {
  farm.provenance.builders.front().sandbox = "reapi-cluster/1";
  EXPECT_NE(refusal().find("receipt of w1: the provenance names another sandbox"), std::string::npos);
}

TEST_F(SandboxClaimTest, WhatIsNoPolicyIsNobodysSandbox) {
  addCluster(farm.put(R"({"apiVersion":"kiln/v1","kind":"Manifest"})"));
  EXPECT_NE(refusal().find("must be \"SandboxPolicy\" or \"ClusterSandbox\""), std::string::npos);
}

}  // namespace
}  // namespace kiln::signing
