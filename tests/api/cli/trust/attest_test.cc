// `kiln attest` and what `kiln verify` makes of it, and of recalls, with the real program.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "manifest/json/json.h"
#include "manifest/statement/vsa.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/node/signed_artifact.h"
#include "tests/support/signed_root.h"

namespace kiln {
namespace {

using testing_support::KilnResult;
using testing_support::runKiln;

struct KilnAttest : testing::Test {
  testing_support::SignedArtifact artifact;
  testing_support::TempDirectory directory;
  signing::PrivateKey author = signing::PrivateKey::create().value();
  const std::string fetched = directory / "model", key = directory / "author.pem";

  void SetUp() override {
    ASSERT_TRUE(
        node::fetchArtifact(artifact.farm.store, artifact.ref, fetched, artifact.trust, SystemClock()));
    ASSERT_TRUE(author.save(key));
    ASSERT_TRUE(artifact.farm.key.save(directory / "farm.pem"));
    std::ofstream(directory / "sbom.json") << R"({"spdxVersion":"SPDX-2.3","packages":[]})";
    artifact.writeTrust(directory.path());
  }
  KilnResult kiln(std::vector<std::string> arguments) {
    return runKiln(arguments,
                   {{"KILN_TRUST_ROOT", directory / "root.json"}, {"KILN_POLICY", directory / "policy.json"}},
                   directory.path());
  }
  KilnResult attest() {
    return kiln({"attest", fetched, "--type", "https://spdx.dev/Document/v2.3", "--predicate",
                 directory / "sbom.json", "--key", key});
  }
  void trustAuthor() {
    auto& root = artifact.trust.root;
    root.keys.push_back({author.publicKey(), root.keys[0].validFrom, root.keys[0].validUntil});
    root.builders.push_back({"urn:example:legal", {author.publicKey().id()}});
    artifact.writeTrust(directory.path());
  }
};

TEST_F(KilnAttest, AThirdPartysStatementCountsIfTheRootKnowsItsAuthor) {
  artifact.trust.policy.statements = {{"https://spdx.dev/Document/v2.3", {"urn:example:legal"}}};
  artifact.writeTrust(directory.path());
  EXPECT_EQ(kiln({"verify", fetched}).exit, 5) << "the policy wants one";
  auto done = attest();
  ASSERT_EQ(done.exit, 0) << done.err;
  EXPECT_NE(done.err.find("does not list key " + author.publicKey().id()), std::string::npos) << done.err;
  EXPECT_NE(done.err.find("kiln trust add-key"), std::string::npos) << done.err;
  EXPECT_EQ(kiln({"verify", fetched}).exit, 5) << "by somebody whom the root does not know";
  trustAuthor();
  done = kiln({"verify", fetched});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_NE(
      done.out.find("policy statements: https://spdx.dev/Document/v2.3: satisfied by urn:example:legal"),
      std::string::npos)
      << done.out;
}

TEST_F(KilnAttest, ASummarySaysWhatWasVerified) {
  const std::string bundle = directory / "vsa.sigstore.json";
  const auto done = kiln({"attest", fetched, "--vsa", "--id", signing::kBuilderId, "--key",
                          directory / "farm.pem", "--out", bundle});
  ASSERT_EQ(done.exit, 0) << done.err;
  const auto read = signing::parseBundle(signing::readTextFile(bundle, 1 << 20).value());
  ASSERT_TRUE(read);
  const auto summary =
      VerificationSummary::fromJson(parseStatement(read->envelope.payload).value().predicate).value();
  EXPECT_EQ(summary.artifact.hash, artifact.farm.artifact.hash);
  EXPECT_EQ(summary.buildLevel, 1) << "a development root";
  EXPECT_EQ(summary.builders, (std::vector<std::string>{"w1 (acme)", "w2 (other)"}));
  EXPECT_EQ(summary.operators, (std::vector<std::string>{"acme", "other"}));
  EXPECT_EQ(summary.from.size(), 1u);
  // What does not pass is not summarised.
  artifact.trust.policy.minBuilders = artifact.trust.policy.minOperators = 3;
  artifact.writeTrust(directory.path());
  EXPECT_EQ(kiln({"attest", fetched, "--vsa", "--id", signing::kBuilderId, "--key", directory / "farm.pem",
                  "--out", directory / "none"})
                .exit,
            5);
  EXPECT_FALSE(std::filesystem::exists(directory / "none"));
}

TEST_F(KilnAttest, RefusesWhatItCannotSign) {
  EXPECT_EQ(kiln({"attest", fetched, "--key", key}).exit, 2) << "what?";
  EXPECT_EQ(kiln({"attest", fetched, "--vsa", "--key", key}).exit, 2) << "by whom?";
  for (const char* type : {"sbom", "./sbom.json", "1:x", "https:", "https://a b", "urn:\x01", ":x"})
    EXPECT_EQ(
        kiln({"attest", fetched, "--type", type, "--predicate", directory / "sbom.json", "--key", key}).exit,
        2)
        << type;
  for (const std::string option : {"--id", "--policy-uri"}) {
    std::vector<std::string> words{"attest", fetched, "--vsa", "--key", key, option, "no uri"};
    if (option != "--id") words.insert(words.end(), {"--id", "urn:example:legal"});
    const auto refused = kiln(words);
    EXPECT_EQ(refused.exit, 2) << option;
    EXPECT_NE(refused.err.find(option + " \"no uri\" is no URI"), std::string::npos) << refused.err;
  }
  std::ofstream(directory / "sbom.json", std::ios::trunc) << R"({"accuracy":0.75})";
  const auto fraction = attest();
  EXPECT_EQ(fraction.exit, 2);
  EXPECT_NE(fraction.err.find("as strings"), std::string::npos) << fraction.err;
  EXPECT_EQ(kiln({"attest", directory / "none", "--type", "t", "--predicate", directory / "sbom.json",
                  "--key", key})
                .exit,
            6);
}

// What verifiers of Kiln read must be as they read it, or the artifact would not verify any more.
TEST_F(KilnAttest, SignsNothingThatWouldMakeTheArtifactFail) {
  trustAuthor();
  std::ofstream(directory / "sbom.json", std::ios::trunc) << R"({"a":1})";
  const auto bundles = [&] {
    const auto entries = std::filesystem::directory_iterator(fetched + "/bundles");
    return std::distance(begin(entries), end(entries));
  };
  const auto before = bundles();
  for (const std::string type :
       {"https://slsa.dev/provenance/v1", "https://slsa.dev/verification_summary/v1",
        "urn:kiln:predicate:check:v1", "urn:kiln:predicate:compile:v1", "urn:kiln:predicate:reproduction:v1",
        "urn:kiln:predicate:tombstone:v1", "urn:kiln:predicate:toolchain:v1", "urn:kiln:predicate:tune:v1"}) {
    const auto done =
        kiln({"attest", fetched, "--type", type, "--predicate", directory / "sbom.json", "--key", key});
    EXPECT_EQ(done.exit, 2) << type << done.out;
    EXPECT_NE(done.err.find(type), std::string::npos) << done.err;
  }
  EXPECT_EQ(bundles(), before);
  EXPECT_EQ(kiln({"verify", fetched}).exit, 0);
}

TEST_F(KilnAttest, ARecalledArtifactIsExit5WithTheReason) {
  const signing::PrivateKey recaller = signing::PrivateKey::create().value();
  ASSERT_TRUE(recaller.save(directory / "recall.key"));
  artifact.trust.root.recallKeys = signing::RecallKeys{{1, {recaller.publicKey()}}, 1, 10};
  artifact.writeTrust(directory.path());
  EXPECT_EQ(kiln({"verify", fetched}).exit, 0);
  const std::string recalls = directory / "recalls.json";
  ASSERT_EQ(kiln({"recall", "--artifact", artifact.farm.artifact.text(), "--reason", "wrong weights",
                  "--unmatched", "--recalls", recalls, "--sign-with", directory / "recall.key"})
                .exit,
            0);
  const auto refused = kiln({"verify", fetched, "--recalls", recalls});
  EXPECT_EQ(refused.exit, 5) << refused.err;
  EXPECT_NE(refused.err.find("wrong weights"), std::string::npos) << refused.err;
  EXPECT_EQ(kiln({"verify", fetched}).exit, 5) << "remembered beside the root";
  // An auditor reads where it came from all the same.
  const auto text = kiln({"provenance", fetched});
  EXPECT_EQ(text.exit, 5) << text.err;
  EXPECT_NE(text.out.find("refused     "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("wrong weights"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("w1 of acme"), std::string::npos) << text.out;
  const auto json = kiln({"provenance", fetched, "--json"});
  EXPECT_EQ(json.exit, 5);
  const auto parsed = parseJson(json.out);
  ASSERT_TRUE(parsed) << json.out;
  EXPECT_NE(parsed->at("refused").get<std::string>().find("wrong weights"), std::string::npos) << json.out;
  EXPECT_EQ(parsed->at("provenance").size(), 1u);
  EXPECT_EQ(kiln({"provenance", fetched, "--against", fetched}).exit, 5);
  // Damage is no recall.
  const std::string weights = fetched + "/weights/0000.bin";
  ASSERT_EQ(::chmod(weights.c_str(), 0600), 0);
  std::ofstream(weights) << "w3ights";
  const auto damaged = kiln({"provenance", fetched});
  EXPECT_EQ(damaged.exit, 5);
  EXPECT_EQ(damaged.out, "");
}

}  // namespace
}  // namespace kiln
