// fetch, verify, show and provenance, from a farm and from a directory.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "manifest/json/json.h"
#include "storage/tree/digest_proto.h"
#include "storage/tree/tree_builder.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/node/lying_store.h"
#include "tests/api/node/signed_artifact.h"
#include "tests/api/support/fake_farm.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing_support::runKiln;

struct KilnArtifact : testing::Test {
  testing_support::SignedArtifact artifact;
  testing_support::LyingStore store{artifact.farm.store};
  testing_support::FakeFarm farm{store};
  testing_support::TempDirectory directory;
  const std::string hash = artifact.farm.artifact.text();

  void SetUp() override {
    artifact.writeTrust(directory.path());
    fs::create_directories(directory / "work");
    v1::Artifact row;
    row.set_digest(hash);
    *row.mutable_manifest() = toProto(artifact.ref.artifact);
    *row.add_bundles() = toProto(artifact.ref.bundles[0]);
    storage::TreeBuilder fixtures;
    for (const auto& file : artifact.ref.fixtures)
      ASSERT_TRUE(fixtures.addFile(file.path, file.digest, false));
    const auto tree = fixtures.build();
    for (const auto& item : tree.directories) artifact.farm.put(item.bytes);
    *row.mutable_fixtures() = toProto(tree.root);
    farm.script.artifacts[hash] = row;
  }
  testing_support::KilnResult kiln(std::vector<std::string> arguments,
                                   std::map<std::string, std::string> environment = {}) {
    environment.emplace("KILN_ENDPOINT", farm.endpoint());
    environment.emplace("KILN_TRUST_ROOT", directory / "root.json");
    environment.emplace("KILN_POLICY", directory / "policy.json");
    environment.emplace("TMPDIR", directory / "work");
    return runKiln(arguments, environment, directory / "work");
  }
};

TEST_F(KilnArtifact, FetchVerifyShowAndProvenance) {
  const auto fetched = kiln({"fetch", hash, "--out", "model"});
  ASSERT_EQ(fetched.exit, 0) << fetched.err;
  EXPECT_EQ(fetched.lastLine(), "model");
  EXPECT_TRUE(fs::exists(directory / "work/model/fixtures/default/input_0.npy"));

  for (const std::string& where : {hash, std::string("model")}) {
    const auto verified = kiln({"verify", where});
    EXPECT_EQ(verified.exit, 0) << verified.err;
    EXPECT_EQ(verified.lastLine(), "verified " + hash);
    const auto shown = kiln({"show", where});
    EXPECT_NE(shown.out.find("cpu:x86-64-v3"), std::string::npos);
    EXPECT_NE(shown.out.find("x f32 [N=1,64]"), std::string::npos) << shown.out;
    const auto provenance = kiln({"provenance", where});
    EXPECT_NE(provenance.out.find("w1 of acme"), std::string::npos) << provenance.out;
    EXPECT_NE(provenance.out.find(digestOf("toolchain").text()), std::string::npos);
    EXPECT_NE(provenance.out.find("sandboxPolicy"), std::string::npos) << provenance.out;
    const auto json = parseJson(kiln({"provenance", where, "--format", "json"}).out);
    ASSERT_TRUE(json);
    EXPECT_EQ(json->at("provenance").size(), 1u);
  }
  // Nothing is left of what was fetched to look at.
  EXPECT_EQ(std::distance(fs::directory_iterator(directory / "work"), fs::directory_iterator()), 1);
}

// What was said of an artifact between two fetches makes no other artifact of it.
TEST_F(KilnArtifact, TwoFetchesOfOneArtifactDoNotDiffer) {
  for (const char* name : {"one", "two"}) ASSERT_EQ(kiln({"fetch", hash, "--out", name}).exit, 0);
  for (const char* beside :
       {"recalls.json", "artifact.json", "bundles/later.sigstore.json", "fixtures/more.npy"}) {
    fs::remove(directory / ("work/two/" + std::string(beside)));
    std::ofstream(directory / ("work/one/" + std::string(beside))) << "another";
  }
  const auto compared = kiln({"diff", "one", "two"});
  EXPECT_EQ(compared.exit, 0) << compared.out << compared.err;
  EXPECT_EQ(compared.lastLine(), "equal");
}

TEST_F(KilnArtifact, AnExportedDirectoryNeedsNoFarm) {
  ASSERT_EQ(kiln({"fetch", hash, "--out", "model"}).exit, 0);
  farm.stop();
  const auto verified = runKiln({"verify", directory / "work/model", "--trust-root", directory / "root.json",
                                 "--policy", directory / "policy.json"});
  EXPECT_EQ(verified.exit, 0) << verified.err;
}

TEST_F(KilnArtifact, AFlippedBitInAnyBlobIsExit5AndLeavesNothing) {
  for (const auto& [name, digest] : artifact.blobs()) {
    store.about = digest;
    store.lie = testing_support::Lie::kFlip;
    const auto result = kiln({"fetch", hash, "--out", "model"});
    EXPECT_EQ(result.exit, 5) << name << ": " << result.err;
    EXPECT_EQ(result.err.rfind("kiln: error: ", 0), 0u);
    EXPECT_TRUE(fs::is_empty(directory / "work")) << name;
    store.lie = testing_support::Lie::kNone;
  }
}

TEST_F(KilnArtifact, ADamagedDirectoryIsExit5AndNamesTheFile) {
  ASSERT_EQ(kiln({"fetch", hash, "--out", "model"}).exit, 0);
  const auto path = directory / "work/model/weights/0000.bin";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  std::ofstream(path) << "w3ights";
  for (const char* command : {"verify", "show", "provenance", "run", "warmup"}) {
    const auto result = kiln({command, "model"});
    EXPECT_EQ(result.exit, 5) << command;
    EXPECT_NE(result.err.find("weights/0000.bin"), std::string::npos) << result.err;
  }
  const auto json = parseJson(kiln({"verify", "model", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("error").at("code"), "DATA_LOSS");
}

TEST_F(KilnArtifact, TrustIsNamedAndDecides) {
  ASSERT_EQ(kiln({"fetch", hash, "--out", "model"}).exit, 0);
  artifact.writeTrust(directory / "work/model");  // planted
  const auto unnamed = kiln({"verify", "model"}, {{"KILN_TRUST_ROOT", ""}, {"KILN_POLICY", ""}});
  EXPECT_EQ(unnamed.exit, 2);
  EXPECT_NE(unnamed.err.find("--trust-root"), std::string::npos);
  // The default policy refuses a development root.
  EXPECT_EQ(kiln({"verify", "model"}, {{"KILN_POLICY", ""}}).exit, 5);
  const auto other =
      signing::developmentRoot(artifact.farm.key.publicKey(), "urn:kiln:builder:other", SystemClock().now());
  std::ofstream(directory / "other.json") << other.toJson().dump();
  EXPECT_EQ(kiln({"verify", "model", "--trust-root", directory / "other.json"}).exit, 5);
}

TEST_F(KilnArtifact, UnknownArtifactsAndDirectories) {
  EXPECT_EQ(kiln({"fetch", digestOf("none").text()}).exit, 6);
  EXPECT_EQ(kiln({"fetch", "latest"}).exit, 2);
  EXPECT_EQ(kiln({"verify", "nowhere"}).exit, 6);
}

}  // namespace
}  // namespace kiln
