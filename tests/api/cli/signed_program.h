// A signed artifact directory around a hand-written program (y = 2x + w, 8 rows of 256), with fixtures, the
// trust root that lists its signer, and `kiln` to run on it.
#pragma once

#include <gtest/gtest.h>

#include "manifest/artifact/oci.h"
#include "signing/bundle/bundle.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/node/signed_artifact.h"
#include "tests/compiler_core/runtime/test_artifact.h"

namespace kiln::testing_support {

// `Files`: TestArtifact, or one like it.
template <class Files>
struct SignedProgramOf : testing::Test {
  SignedArtifact trusted;
  Files artifact;
  TempDirectory directory;
  std::map<std::string, std::string> environment;  // of kiln, beside the trust root and the policy

  void SetUp() override {
    trusted.writeTrust(directory.path());
    artifact.writeFixtures();
    sign();
    save("x.npy", runtime::test::floats({runtime::test::kRows, runtime::test::kColumns},
                                        runtime::test::sampleInput()));
  }
  // As a farm whose key the root lists.
  void sign() {
    const auto manifest = *toCanonicalJson(artifact.manifest.toJson());
    const auto oci = *makeOciManifest(artifact.manifest, digestOf(manifest));
    auto provenance = trusted.farm.provenance;
    provenance.externalParameters = *externalParameters(artifact.manifest.spec);
    provenance.resolvedDependencies = dependencies(artifact.manifest.spec);
    provenance.byproducts = {
        {kFixturesByproduct, "", *digestOfFile(artifact.path() + "/fixtures/fixtures.json"), {}}};
    const auto statement = *provenanceStatement(digestOf(oci), provenance);
    const auto& key = trusted.farm.key;
    artifact.write("artifact.json", oci);
    artifact.write("bundles/1.sigstore.json",
                   *signing::makeBundle(*signing::signEnvelope(signing::kInTotoPayload, statement, key),
                                        key.publicKey()));
  }
  void save(const std::string& name, const npy::Tensor& tensor) {
    ASSERT_TRUE(npy::write(directory / name, tensor));
  }
  KilnResult kiln(std::vector<std::string> arguments) {
    auto variables = environment;
    variables["KILN_TRUST_ROOT"] = directory / "root.json";
    variables["KILN_POLICY"] = directory / "policy.json";
    return runKiln(arguments, variables, directory.path());
  }
};
using SignedProgram = SignedProgramOf<runtime::test::TestArtifact>;

}  // namespace kiln::testing_support
