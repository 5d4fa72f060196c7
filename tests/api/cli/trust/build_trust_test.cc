// `kiln build` and `kiln watch` where a trust root is named: what the caller knows to be recalled, and which
// toolchain a label means, is not the farm's word.
#include <algorithm>
#include <array>

#include "manifest/statement/provenance.h"
#include "manifest/statement/toolchain_admission.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "signing/recall/recalls.h"
#include "signing/trust/trust_root.h"
#include "tests/api/cli/kiln_build.h"
#include "tests/api/client/onnx_bytes.h"

namespace kiln {
namespace {

using testing_support::KilnResult;
using testing_support::runKiln;

constexpr char kBuilder[] = "urn:kiln:builder:test";

struct TrustedBuild : testing_support::KilnBuild {
  const TimePoint now = SystemClock().now();
  const signing::PrivateKey key = signing::PrivateKey::create().value(),
                            recallKey = signing::PrivateKey::create().value();
  signing::TrustRoot root = signing::developmentRoot(key.publicKey(), kBuilder, now);
  std::string stated = "kiln-1";  // the label in the provenance
  std::map<std::string, std::string> environment{{"KILN_ENDPOINT", farm.endpoint()},
                                                 {"KILN_TRUST_ROOT", directory / "root.json"}};

  void SetUp() override {
    root.recallKeys = signing::RecallKeys{{1, {recallKey.publicKey()}}, 1, 10};
    ASSERT_TRUE(signing::writeTextFile(directory / "root.json", root.toJson().dump()));
    file("model.onnx", testing_support::emptyModel());
    admit("kiln-1", digestOf("toolchain"), key);
    succeeds();
    farm.script.submit = [this, built = farm.script.submit](const v1::SubmitJobRequest& request,
                                                            v1::Job* job) {
      const grpc::Status status = built(request, job);
      sign(asked(request));
      return status;
    };
  }

  KilnResult asks(std::vector<std::string> arguments) {
    return runKiln(arguments, environment, directory.path());
  }
  KilnResult builds(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"build", "model.onnx", "--target", "cpu:x86-64-v3"});
    return asks(more);
  }
  void expectRefused(const KilnResult& result, const std::string& why) {
    EXPECT_EQ(result.exit, 5) << result.err;
    EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
    EXPECT_EQ(result.out.find("artifact"), std::string::npos) << "no artifact line for scripts to take";
  }

  Digest signedBundle(const std::string& statement, const signing::PrivateKey& by) {
    const auto envelope = signing::signEnvelope(signing::kInTotoPayload, statement, by).value();
    const std::string bundle = signing::makeBundle(envelope, by.publicKey()).value();
    return storage::putBlob(*store, "default", asBytes(bundle)).value();
  }
  // The provenance of the artifact of the last job.
  void sign(const CompileSpec& spec) {
    Provenance said;
    said.externalParameters = externalParameters(spec).value();
    said.externalParameters["toolchainLabel"] = stated;
    said.internalParameters = {{"action", digestOf("action").text()},
                               {"sandboxPolicy", digestOf("policy").text()}};
    said.resolvedDependencies = dependencies(spec);
    said.builderId = kBuilder;
    said.builderVersion = {{"kiln", "0.1.0"}};
    said.invocationId = "job-1";
    said.startedOn = said.finishedOn = now;
    said.builders = {{"w1", "acme", digestOf("receipt")}};
    v1::Artifact& artifact = farm.script.artifacts[hash];
    const Digest manifest = fromProto(artifact.manifest()).value();
    artifact.clear_bundles();
    *artifact.add_bundles() = toProto(signedBundle(provenanceStatement(manifest, said).value(), key));
  }
  // The label's row of the index, in the place of the one before.
  void admit(const std::string& label, const Digest& tree, const signing::PrivateKey& by,
             const std::optional<std::string>& instance = {}) {
    std::erase_if(farm.script.toolchains, [&](const v1::Toolchain& each) { return each.label() == label; });
    v1::Toolchain& row = farm.script.toolchains.emplace_back();
    row.set_label(label);
    *row.mutable_toolchain_digest() = toProto(tree);
    *row.mutable_admission() =
        toProto(signedBundle(admissionStatement(tree, {kBuilder, label, {}, now, instance}).value(), by));
  }
  // A file with one recall.
  std::string recalls(const Digest& what) {
    const signing::Recall news{signing::RecallKind::kArtifact,
                               what.text(),
                               "wrong weights",
                               now,
                               {},
                               {},
                               {},
                               {{what.hash, 0}},
                               false};
    const auto text = signing::Recalls::issue(nullptr, news, std::array{recallKey}, now,
                                              now + std::chrono::hours(1000), "");
    file("recalls.json", text.value());
    return directory / "recalls.json";
  }
};

TEST_F(TrustedBuild, WhatIsSignedAndNotRecalledIsHandedOut) {
  const KilnResult asked = builds({"--toolchain", "kiln-1"});
  EXPECT_EQ(asked.exit, 0) << asked.err;
  EXPECT_EQ(asked.lastLine(), "artifact " + hash);
  EXPECT_EQ(builds().exit, 0) << "the farm's default";
  EXPECT_EQ(builds({"--toolchain", digestOf("toolchain").text()}).exit, 0);
  EXPECT_EQ(asks({"watch", "job-1"}).lastLine(), "artifact " + hash);
}

TEST_F(TrustedBuild, TheCallersOwnRecallsCountThoughTheFarmHasNone) {
  ASSERT_EQ(builds().exit, 0);
  const std::string file = recalls(Digest::parse(hash, 0).value());
  expectRefused(builds({"--recalls", file}), "wrong weights");
  expectRefused(builds(), "wrong weights");  // remembered beside the root
  expectRefused(asks({"watch", "job-1"}), "wrong weights");
  environment.erase("KILN_TRUST_ROOT");
  EXPECT_EQ(builds().exit, 0) << "no root is named, so nobody is believed";
  EXPECT_EQ(builds({"--recalls", file}).exit, 2) << "nobody's recalls";
}

TEST_F(TrustedBuild, ARecalledModelIsNotBuiltFrom) {
  environment["KILN_RECALLS"] = recalls(digestOf(testing_support::emptyModel()));
  expectRefused(builds(), "wrong weights");
}

TEST_F(TrustedBuild, WhatNobodyTheRootNamesHasSignedIsRefused) {
  const signing::TrustRoot other =
      signing::developmentRoot(signing::PrivateKey::create().value().publicKey(), kBuilder, now);
  ASSERT_TRUE(signing::writeTextFile(directory / "other.json", other.toJson().dump()));
  expectRefused(builds({"--trust-root", directory / "other.json"}),
                "no statement that the trust root accepts");
  EXPECT_EQ(builds({"--trust-root", directory / "missing.json"}).exit, 6);
  farm.script.artifacts.clear();
  succeeds();
  expectRefused(builds(), "not signed");
}

TEST_F(TrustedBuild, ALabelIsTheTreeThatWasAdmitted) {
  // The farm built with another tree than the label was admitted for, and says so of the label or of another.
  admit("kiln-1", digestOf("the good one"), key);
  expectRefused(builds({"--toolchain", "kiln-1"}), "kiln-1");
  expectRefused(builds(), "kiln-1");
  expectRefused(asks({"watch", "job-1"}), "kiln-1");
  stated = "kiln-2";
  admit("kiln-2", digestOf("toolchain"), key);
  expectRefused(builds({"--toolchain", "kiln-1"}), "kiln-1");
  EXPECT_EQ(builds({"--toolchain", "kiln-2"}).exit, 0);
  admit("kiln-1", digestOf("toolchain"), key);
  EXPECT_EQ(builds({"--toolchain", "kiln-1"}).exit, 0) << "a tree may have two labels";
}

TEST_F(TrustedBuild, AnAdmissionCountsAsFarAsItIsSigned) {
  admit("kiln-1", digestOf("toolchain"), signing::PrivateKey::create().value());
  expectRefused(builds(), "no signed admission says that this is kiln-1");
  admit("kiln-1", digestOf("toolchain"), key);
  admit("kiln-1", digestOf("toolchain"), key, "b");
  expectRefused(builds(), "another instance");
  admit("kiln-1", digestOf("toolchain"), key, "default");
  EXPECT_EQ(builds().exit, 0);
  farm.script.toolchains[0].set_label("kiln-2");  // whose admission is kiln-1's
  stated = "kiln-2";
  expectRefused(builds(), "its admission is that of kiln-1");
  farm.script.toolchains[0].clear_admission();
  expectRefused(builds(), "no statement says that it was admitted");
  farm.script.toolchains.clear();
  expectRefused(builds(), "kiln-2");
}

}  // namespace
}  // namespace kiln
