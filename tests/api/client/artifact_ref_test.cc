#include "api/client/artifact_ref.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "storage/tree/directory.h"
#include "tests/api/support/fake_farm.h"

namespace kiln::client {
namespace {

using testing_support::FakeFarm;
using testing_support::TempDirectory;

const std::string kRefused = R"({"exitCode":5})";

struct ArtifactRefTest : testing::Test {
  TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  FakeFarm farm{*store};
  std::unique_ptr<Client> client = connect(farm.endpoint());

  static std::unique_ptr<Client> connect(const std::string& endpoint) {
    ClientOptions options;
    options.endpoint = endpoint;
    options.deadline = std::chrono::seconds(5);
    return std::move(*Client::open(std::move(options)));
  }
  Digest put(const reapi::Directory& content) {
    return storage::putBlob(*store, "default", asBytes(storage::serialiseDirectory(content))).value();
  }
  static void addFile(reapi::Directory& to, const std::string& name) {
    auto& file = *to.add_files();
    file.set_name(name);
    *file.mutable_digest() = toProto(digestOf(name));
  }
  static void addDirectory(reapi::Directory& to, const std::string& name, const Digest& digest) {
    auto& child = *to.add_directories();
    child.set_name(name);
    *child.mutable_digest() = toProto(digest);
  }
  static v1::Artifact withFixtures(const Digest& root) {
    v1::Artifact artifact;
    *artifact.mutable_manifest() = toProto(digestOf("artifact"));
    *artifact.mutable_fixtures() = toProto(root);
    return artifact;
  }
  // How an entry with these fixtures is refused; "" if it is not.
  std::string refusalOf(const Digest& root) {
    const auto ref = partsOf(*client, withFixtures(root));
    if (ref) return "";
    EXPECT_EQ(ref.error().code, Code::kDataLoss);
    EXPECT_EQ(ref.error().details, kRefused);
    return ref.error().message;
  }
};

TEST_F(ArtifactRefTest, AnIndexThatAnswersWithAnotherArtifactIsRefused) {  // attack 24
  const auto wanted = digestOf("wanted"), other = digestOf("other");
  v1::Artifact answer;
  answer.set_digest(wanted.text());
  answer.mutable_manifest()->set_hash(other.hex());
  answer.mutable_manifest()->set_size_bytes(5);
  farm.script.artifacts[wanted.text()] = answer;
  const auto ref = findArtifact(*client, wanted.text());
  ASSERT_FALSE(ref);
  EXPECT_EQ(ref.error().code, Code::kDataLoss);
  const auto shortened = findArtifact(*client, wanted.text().substr(0, 19));
  ASSERT_FALSE(shortened);
  EXPECT_EQ(shortened.error().code, Code::kDataLoss) << "by its beginning neither";
  EXPECT_EQ(findArtifact(*client, "sha256:zz").error().code, Code::kInvalidArgument);
  EXPECT_EQ(findArtifact(*client, wanted.text().substr(0, 18)).error().code, Code::kInvalidArgument);
  farm.script.artifacts[other.text()] = answer;
  for (const std::size_t digits : {12u, 13u, 40u, 64u}) {
    const auto found = findArtifact(*client, other.text().substr(0, 7 + digits));
    ASSERT_TRUE(found) << digits << found.error().message;
    EXPECT_EQ(found->artifact.hash, other.hash);
  }
  farm.script.artifacts.erase(other.text());
  EXPECT_EQ(findArtifact(*client, other.text()).error().code, Code::kNotFound);
}

// A row may hold anything; what cannot be a digest is no mistake of the caller's.
TEST_F(ArtifactRefTest, AnIndexThatAnswersWithNoDigestIsRefused) {
  const auto wanted = digestOf("wanted");
  v1::Artifact honest;
  *honest.mutable_manifest() = toProto(wanted);
  *honest.add_bundles() = toProto(digestOf("a bundle"));
  const auto refusedAs = [&](const v1::Artifact& answer) {
    farm.script.artifacts[wanted.text()] = answer;
    const auto ref = findArtifact(*client, wanted.text());
    return ref ? "" : ref.error().details;
  };
  EXPECT_EQ(refusedAs(honest), "");
  const auto changed = [&](auto change) {
    v1::Artifact answer = honest;
    change(answer);
    return refusedAs(answer);
  };
  EXPECT_EQ(changed([](v1::Artifact& answer) { answer.mutable_manifest()->set_size_bytes(-1); }), kRefused);
  EXPECT_EQ(changed([](v1::Artifact& answer) { answer.mutable_bundles(0)->set_size_bytes(-1); }), kRefused);
  for (const char* hash : {"", "XYZ"}) {
    EXPECT_EQ(changed([&](v1::Artifact& answer) { answer.mutable_manifest()->set_hash(hash); }), kRefused);
    EXPECT_EQ(changed([&](v1::Artifact& answer) { answer.mutable_bundles(0)->set_hash(hash); }), kRefused);
    EXPECT_EQ(changed([&](v1::Artifact& answer) { answer.mutable_fixtures()->set_hash(hash); }), kRefused);
  }
}

TEST_F(ArtifactRefTest, AnEntryNamesItsBundlesInTheirOrder) {
  v1::Artifact artifact;
  *artifact.mutable_manifest() = toProto(digestOf("artifact"));
  const std::vector<Digest> bundles{digestOf("one"), digestOf("another"), digestOf("a third")};
  for (const Digest& bundle : bundles) *artifact.add_bundles() = toProto(bundle);
  const auto ref = partsOf(*client, artifact).value();
  EXPECT_EQ(ref.instance, "default");
  EXPECT_EQ(ref.artifact, digestOf("artifact"));
  EXPECT_EQ(ref.bundles, bundles);
  EXPECT_TRUE(ref.fixtures.empty());
}

TEST_F(ArtifactRefTest, FixturesAreTheFilesOfTheirTree) {
  reapi::Directory inner, root;
  addFile(inner, "input_0.npy");
  addFile(inner, "output_0.npy");
  addFile(root, "fixtures.json");
  addDirectory(root, "default", put(inner));
  addDirectory(root, "empty", put({}));
  const auto ref = partsOf(*client, withFixtures(put(root))).value();
  std::vector<std::pair<std::string, Digest>> files;
  for (const FixtureFile& file : ref.fixtures) files.emplace_back(file.path, file.digest);
  EXPECT_EQ(files, (std::vector<std::pair<std::string, Digest>>{
                       {"fixtures.json", digestOf("fixtures.json")},
                       {"default/input_0.npy", digestOf("input_0.npy")},
                       {"default/output_0.npy", digestOf("output_0.npy")}}));
}

TEST_F(ArtifactRefTest, FixturesThatAreNoTreeOfFilesAreRefused) {
  const auto saying = [](const std::string& refusal, const std::string& part) {
    EXPECT_TRUE(refusal.starts_with("fixtures: ")) << refusal;
    EXPECT_NE(refusal.find(part), std::string::npos) << refusal;
  };
  reapi::Directory linked, root;
  addFile(linked, "input_0.npy");
  auto& link = *linked.add_symlinks();
  link.set_name("link");
  link.set_target("input_0.npy");
  addDirectory(root, "default", put(linked));
  saying(refusalOf(put(root)), "default/link is a symbolic link");
  saying(refusalOf(digestOf("a tree that nobody has")), "tree directory");
  saying(refusalOf(storage::putBlob(*store, "default", asBytes("no tree")).value()), "tree directory");
}

TEST_F(ArtifactRefTest, FixturesAreAtMost4096Entries) {
  reapi::Directory root;
  for (int i = 0; i < 4096; ++i) addFile(root, fmt::format("{:04}", i));
  EXPECT_EQ(refusalOf(put(root)), "");
  addFile(root, "one more");
  EXPECT_NE(refusalOf(put(root)).find("more than 4096 entries"), std::string::npos);
}

// Nobody's fault but the connection's: it may be tried again.
TEST_F(ArtifactRefTest, FixturesOfAFarmThatIsAwayAreNotRefused) {
  const auto lonely = connect("unix:" + (directory / "nobody.sock"));
  const auto ref = partsOf(*lonely, withFixtures(digestOf("fixtures")));
  ASSERT_FALSE(ref);
  EXPECT_EQ(ref.error().code, Code::kUnavailable);
  EXPECT_NE(ref.error().details, kRefused);
  EXPECT_NE(ref.error().message.find("nobody.sock"), std::string::npos) << ref.error().message;
}

}  // namespace
}  // namespace kiln::client
