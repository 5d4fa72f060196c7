#include "api/node/open.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "api/node/kiln_node.h"
#include "api/node/private_copy.h"
#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/oci_layout.h"
#include "tests/api/node/signed_artifact.h"

namespace kiln::node {
namespace {

namespace fs = std::filesystem;

struct OpenTest : testing::Test {
  testing_support::SignedArtifact artifact;
  testing_support::TempDirectory directory;
  std::string fetched = directory / "out";

  void SetUp() override {
    ASSERT_TRUE(fetchArtifact(artifact.farm.store, artifact.ref, fetched, artifact.trust, SystemClock()));
    artifact.writeTrust(directory.path());
  }
  Result<VerifiedArtifact> open(const std::optional<Digest>& wanted = {}) {
    return openArtifact(fetched, wanted, artifact.trust, SystemClock());
  }
};

struct AttackCases : OpenTest {};

// The artifact and its bundle as kiln export leaves them.
std::string exportTo(const std::string& root, testing_support::SignedArtifact& artifact) {
  fs::create_directories(root + "/blobs/sha256");
  const auto put = [&](std::string_view text) {
    const Digest digest = digestOf(text);
    std::ofstream(root + "/blobs/sha256/" + digest.hex(), std::ios::binary) << text;
    return digest;
  };
  for (const auto& [what, digest] : artifact.blobs())
    put(storage::getBlob(artifact.farm.store, "default", digest, 1 << 20).value());
  put(kEmptyConfig);
  const Digest bundle = put(makeBundleReferrer(artifact.ref.artifact, artifact.ref.bundles[0]).value());
  const std::vector<LayoutEntry> referrers{{bundle, kBundleType}};
  const Digest tag = put(makeReferrersIndex(referrers).value());
  std::ofstream(root + "/oci-layout") << kOciLayoutText;
  std::ofstream(root + "/index.json") << makeLayoutIndex(artifact.ref.artifact, referrers, tag).value();
  return root;
}

TEST_F(AttackCases, Case08AnExportOfAnotherArtifactIsRefused) {
  const std::string layout = exportTo(directory / "export", artifact);
  const auto open = [&](const std::optional<Digest>& wanted) {
    return openArtifact(layout, wanted, artifact.trust, SystemClock());
  };
  for (const std::optional<Digest>& wanted :
       {std::optional<Digest>(), std::optional(artifact.farm.artifact)}) {
    const auto opened = open(wanted);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->verdict.artifact.hash, artifact.farm.artifact.hash);
  }
  for (const Digest& other : {digestOf("another"), Digest{}}) {
    const auto refused = open(other);
    ASSERT_FALSE(refused) << "it is whole and signed, but not " << other.text();
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
    EXPECT_NE(refused.error().message.find("holds another artifact"), std::string::npos);
    EXPECT_NE(refused.error().details.find("\"exitCode\":5"), std::string::npos);
  }
}

TEST_F(OpenTest, ADamagedExportIsExit5) {
  for (const char* part : {"index.json", "blobs/sha256"}) {
    const std::string layout = exportTo(directory / (std::string("export of ") + part[0]), artifact);
    ASSERT_TRUE(openArtifact(layout, {}, artifact.trust, SystemClock()));
    fs::remove_all(layout + "/" + part);
    if (part == std::string("index.json")) std::ofstream(layout + "/index.json") << "{}";
    const auto opened = openArtifact(layout, {}, artifact.trust, SystemClock());
    ASSERT_FALSE(opened) << part;
    EXPECT_EQ(opened.error().code, Code::kDataLoss) << opened.error().message;
    EXPECT_NE(opened.error().details.find("\"exitCode\":5"), std::string::npos) << opened.error().message;
    EXPECT_TRUE(opened.error().message.starts_with(layout)) << opened.error().message;
  }
}

TEST_F(OpenTest, OpensAPrivateDirectoryInPlace) {
  const auto opened = open(artifact.farm.artifact);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->directory, fetched);
  EXPECT_EQ(opened->manifest().spec, artifact.farm.manifest.spec);
  EXPECT_FALSE(open(digestOf("another")));
  EXPECT_FALSE(open(Digest{})) << "64 zeros are a digest like any other";
}

TEST_F(OpenTest, AFlippedBitInAnyFileIsExit5) {
  for (const auto& entry : fs::recursive_directory_iterator(fetched)) {
    if (!entry.is_regular_file()) continue;
    const auto path = entry.path().string(), name = path;
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    const auto flip = [&] {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const auto byte = static_cast<char>(file.get() ^ 1);
      file.seekp(0);
      file.put(byte);
    };
    flip();
    const auto opened = open();
    ASSERT_FALSE(opened) << name;
    EXPECT_NE(opened.error().details.find("\"exitCode\":5"), std::string::npos) << name;
    flip();
  }
  EXPECT_TRUE(open());
}

TEST_F(AttackCases, Case31ADirectoryOpenToOthersIsCopiedFirst) {
  ASSERT_EQ(::chmod((fetched + "/weights").c_str(), 0777), 0);
  EXPECT_FALSE(isPrivate(fetched));
  std::string copied;
  {
    const auto opened = open();
    ASSERT_TRUE(opened) << opened.error().message;
    copied = opened->directory;
    EXPECT_NE(copied, fetched);
    EXPECT_TRUE(isPrivate(copied));
    // A swap after verification does not reach what is loaded.
    fs::remove(fetched + "/weights/0000.bin");
    std::ofstream(fetched + "/weights/0000.bin") << "swapped";
    EXPECT_EQ(digestOfFile(copied + "/weights/0000.bin")->hex(),
              artifact.farm.manifest.weights[0].digest.hex());
  }
  EXPECT_FALSE(fs::exists(copied));
}

// Whoever can turn a link or rename a folder on the way can swap what was verified.
TEST_F(AttackCases, Case31AWayThatOthersMayChangeIsCopiedFirst) {
  EXPECT_TRUE(isPrivate(fetched));
  EXPECT_TRUE(isPrivate(fetched + "/"));
  fs::create_directory_symlink(directory.path(), directory / "link");
  EXPECT_FALSE(isPrivate(directory / "link/out"));
  // By its spelling this one is as good as the first, and it is another one.
  fs::create_directories(directory / "open/deep");
  ASSERT_EQ(::chmod((directory / "open").c_str(), 0777), 0);
  fs::copy(fetched, directory / "open/out", fs::copy_options::recursive);
  fs::create_directory_symlink(directory / "open/deep", directory / "turned");
  EXPECT_FALSE(isPrivate(directory / "turned/../out"));
  const fs::path before = fs::current_path();
  fs::current_path(fetched + "/weights");
  EXPECT_TRUE(isPrivate(".."));
  EXPECT_TRUE(isPrivate("./../../out/"));
  fs::current_path(before);
  fs::create_directories(directory / "shared/mine");
  fs::rename(fetched, directory / "shared/mine/out");
  fetched = directory / "shared/mine/out";
  EXPECT_TRUE(isPrivate(fetched));
  ASSERT_EQ(::chmod((directory / "shared").c_str(), 0777), 0);
  EXPECT_FALSE(isPrivate(fetched));
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_NE(opened->directory, fetched);
}

TEST_F(AttackCases, Case31PrivateIsWhatNobodyElseMayWrite) {
  const std::vector<std::string> parts{"", "/weights", "/weights/0000.bin", "/bundles", "/artifact.json"};
  for (const std::string& part : parts) {
    const fs::perms before = fs::status(fetched + part).permissions();
    for (const mode_t writable : {0020u, 0002u, 0022u}) {
      ASSERT_EQ(::chmod((fetched + part).c_str(), static_cast<mode_t>(before) | writable), 0);
      EXPECT_FALSE(isPrivate(fetched)) << "fetched" << part << " with " << writable;
    }
    ASSERT_EQ(::chmod((fetched + part).c_str(), static_cast<mode_t>(before) | 01002), 0);
    EXPECT_FALSE(isPrivate(fetched)) << "sticky: the names in it are safe, what is added is not";
    fs::permissions(fetched + part, before);
    EXPECT_TRUE(isPrivate(fetched));
  }
  ASSERT_EQ(::chmod(directory.path().c_str(), 01777), 0);
  EXPECT_TRUE(isPrivate(fetched)) << "nobody else may rename it in a sticky directory";
  ASSERT_EQ(::chmod(directory.path().c_str(), 0777), 0);
  EXPECT_FALSE(isPrivate(fetched));
  ASSERT_EQ(::chmod(directory.path().c_str(), 0700), 0);

  fs::create_symlink("/bin/true", fetched + "/weights/link");
  EXPECT_FALSE(isPrivate(fetched)) << "with a link in it";
  fs::remove(fetched + "/weights/link");
  EXPECT_TRUE(isPrivate(fetched));
  EXPECT_FALSE(isPrivate(fetched + "/artifact.json")) << "no directory";
  EXPECT_FALSE(isPrivate(fetched + "/nothing"));
}

TEST_F(AttackCases, Case31WhatOthersOwnIsCopiedFirst) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  for (const std::string& path : {directory.path(), fetched, fetched + "/program.so"}) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(isPrivate(fetched)) << path;
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    EXPECT_TRUE(isPrivate(fetched)) << path;
  }
}

TEST_F(OpenTest, FixturesAreThoseThatAreSigned) {
  std::ofstream(fetched + "/fixtures/added.npy") << "x";
  EXPECT_FALSE(open());
  fs::remove(fetched + "/fixtures/added.npy");
  EXPECT_TRUE(open());
  fs::rename(fetched + "/fixtures/default", fetched + "/fixtures/other");
  EXPECT_FALSE(open());
  fs::rename(fetched + "/fixtures/other", fetched + "/fixtures/default");
  fs::remove(fetched + "/fixtures/fixtures.json");
  EXPECT_FALSE(open());
  fs::remove_all(fetched + "/fixtures");  // an artifact without fixtures is whole
  EXPECT_TRUE(open());
}

TEST_F(OpenTest, LinksAreRefused) {
  fs::remove(fetched + "/program.so");
  fs::create_symlink("/bin/true", fetched + "/program.so");
  EXPECT_FALSE(open());
  ASSERT_EQ(::chmod(fetched.c_str(), 0777), 0);
  const auto copied = open();
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Code::kDataLoss);
}

TEST_F(OpenTest, SpecialFilesAreNotCopied) {
  for (const char* name : {"program.so", "artifact.json", "fixtures/fixtures.json"}) {
    fs::rename(fetched + "/" + name, directory / "kept");
    ASSERT_EQ(::mkfifo((fetched + "/" + name).c_str(), 0600), 0);
    const auto copy = PrivateCopy::of(fetched);
    ASSERT_FALSE(copy) << name;
    EXPECT_EQ(copy.error().code, Code::kDataLoss);
    EXPECT_NE(copy.error().message.find("not a regular file"), std::string::npos) << copy.error().message;
    fs::remove(fetched + "/" + name);
    fs::rename(directory / "kept", fetched + "/" + name);
  }
}

TEST_F(OpenTest, AnArtifactWithoutFixturesIsCopiedToo) {
  fs::remove_all(fetched + "/fixtures");
  ASSERT_EQ(::chmod(fetched.c_str(), 0777), 0);
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_NE(opened->directory, fetched);
}

TEST_F(OpenTest, RecallsThatAreTooLongAreRefused) {
  std::ofstream(fetched + "/recalls.json").close();
  fs::resize_file(fetched + "/recalls.json", signing::kMaxRecallsBytes + 1);
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kDataLoss);
}

// A file of terabytes that takes no room on the attacker's disk must take none on ours.
TEST_F(OpenTest, SparseFilesAreNotCopiedToTheirSize) {
  ASSERT_EQ(::chmod(fetched.c_str(), 0777), 0);
  const auto program = fetched + "/program.so";
  constexpr auto kHuge = std::uintmax_t{8} << 40;
  fs::remove(program);
  std::ofstream(program).close();
  fs::resize_file(program, kHuge);
  const auto longer = open();
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, Code::kDataLoss);
  EXPECT_NE(longer.error().message.find("is longer than"), std::string::npos) << longer.error().message;

  // Neither where the artifact's own document says that it is so long.
  std::stringstream text;
  text << std::ifstream(fetched + "/artifact.json").rdbuf();
  auto document = Json::parse(text.str());
  document["layers"][0]["size"] = std::uint64_t{1} << 34;
  fs::resize_file(program, std::uintmax_t{1} << 34);
  std::ofstream(program, std::ios::in | std::ios::out) << "begins";
  fs::remove(fetched + "/artifact.json");
  std::ofstream(fetched + "/artifact.json") << *toCanonicalJson(document);
  const auto copy = PrivateCopy::of(fetched);
  ASSERT_TRUE(copy) << copy.error().message;
  struct stat facts{};
  ASSERT_EQ(::stat(((*copy)->path() + "/program.so").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_size, off_t{1} << 34);
  EXPECT_LE(facts.st_blocks * 512, 1 << 20);
}

TEST_F(OpenTest, ACopyHasTheSameBytesWhereverTheHolesAre) {
  constexpr std::size_t kPart = 1 << 20;
  std::string text(5 * kPart / 2, '\0');
  text.replace(kPart, 6, "middle");
  text.replace(2 * kPart, 4, "last");
  fs::remove(fetched + "/weights/0000.bin");
  {
    std::ofstream file(fetched + "/weights/0000.bin", std::ios::binary);
    file.seekp(kPart) << "middle";
    file.seekp(2 * kPart) << "last";
  }
  fs::resize_file(fetched + "/weights/0000.bin", text.size());
  std::stringstream document;
  document << std::ifstream(fetched + "/artifact.json").rdbuf();
  auto oci = Json::parse(document.str());
  oci["layers"][1]["size"] = text.size();
  fs::remove(fetched + "/artifact.json");
  std::ofstream(fetched + "/artifact.json") << *toCanonicalJson(oci);
  const auto copy = PrivateCopy::of(fetched);
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(digestOfFile((*copy)->path() + "/weights/0000.bin").value(), digestOf(text));
}

// Nobody has signed yet for what these say of the others.
TEST_F(OpenTest, NothingLongerThanItMayBeIsCopied) {
  const std::map<std::string, std::uintmax_t> limits{{"manifest.json", 0},
                                                     {"program.so", 0},
                                                     {"fixtures/default/input_0.npy", 0},
                                                     {"artifact.json", kMaxOciManifestBytes},
                                                     {"fixtures/fixtures.json", kMaxFixtureListBytes},
                                                     {"bundles/large.sigstore.json", 12u << 20},
                                                     {"recalls.json", signing::kMaxRecallsBytes}};
  for (const auto& [name, limit] : limits) {
    const std::string path = fetched + "/" + name, kept = directory / "kept";
    const bool was = fs::exists(path);
    if (was)
      fs::copy_file(path, kept, fs::copy_options::overwrite_existing);
    else
      std::ofstream(path).close();
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    if (!was) {
      fs::resize_file(path, limit);
      EXPECT_TRUE(PrivateCopy::of(fetched)) << name << " of " << limit << " bytes";
    }
    fs::resize_file(path, std::max(limit, fs::file_size(path)) + 1);
    const auto longer = PrivateCopy::of(fetched);
    ASSERT_FALSE(longer) << name;
    EXPECT_EQ(longer.error().code, Code::kDataLoss) << name;
    EXPECT_NE(longer.error().message.find("is longer than"), std::string::npos) << longer.error().message;
    fs::remove(path);
    if (was) fs::copy_file(kept, path);
  }
}

TEST_F(OpenTest, AFileOfManyNamesTakesNoMoreRoom) {
  ASSERT_EQ(::chmod(fetched.c_str(), 0777), 0);
  std::ofstream(fetched + "/bundles/first.sigstore.json") << std::string(1 << 17, 'x');
  for (int i = 0; i < 200; ++i)
    fs::create_hard_link(fetched + "/bundles/first.sigstore.json",
                         fetched + "/bundles/" + std::to_string(i) + ".sigstore.json");
  const auto copy = PrivateCopy::of(fetched);
  ASSERT_TRUE(copy) << copy.error().message;
  std::set<ino_t> files;
  for (const auto& entry : fs::directory_iterator((*copy)->path() + "/bundles")) {
    struct stat facts{};
    ASSERT_EQ(::stat(entry.path().c_str(), &facts), 0);
    files.insert(facts.st_ino);
  }
  EXPECT_EQ(files.size(), 2u) << "the artifact's own bundle and this one";
}

TEST_F(OpenTest, NoMoreBundlesAreCopiedThanAnArtifactMayHave) {
  for (std::size_t i = 1; i < kMaxBundles; ++i)
    std::ofstream(fetched + "/bundles/" + std::to_string(i) + ".sigstore.json") << "x";
  EXPECT_TRUE(PrivateCopy::of(fetched));
  std::ofstream(fetched + "/bundles/last.sigstore.json") << "x";
  const auto refused = PrivateCopy::of(fetched);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_NE(refused.error().message.find("more than 256 bundles"), std::string::npos)
      << refused.error().message;
}

TEST_F(OpenTest, NoMoreBytesOfBundlesAreReadThanAnArtifactMayHave) {
  const auto place = [&](int i) { return fetched + "/bundles/" + std::to_string(i) + ".sigstore.json"; };
  for (int i = 0; i < 5; ++i) {
    std::ofstream(place(i)) << "x";
    fs::resize_file(place(i), kMaxBundleBytes);
  }
  EXPECT_TRUE(PrivateCopy::of(fetched));
  std::ofstream(place(5)) << "x";
  fs::resize_file(place(5), kMaxBundleBytes);
  const auto copy = PrivateCopy::of(fetched);
  ASSERT_FALSE(copy);
  const auto verdict = signing::verifyDirectory({fetched, artifact.farm.artifact}, artifact.trust.root,
                                                artifact.trust.policy, SystemClock());
  for (const std::string& why : {copy.error().message, verdict.status().error().message})
    EXPECT_NE(why.find("all of an artifact may have 67108864"), std::string::npos) << why;
}

TEST_F(OpenTest, OnlyWhatBelongsToAnArtifactIsCopied) {
  std::ofstream(fetched + "/stray") << "x";
  const auto copy = PrivateCopy::of(fetched);
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_FALSE(fs::exists((*copy)->path() + "/stray"));
  EXPECT_TRUE(fs::exists((*copy)->path() + "/fixtures/default/input_0.npy"));
  std::ofstream(fetched + "/fixtures/stray.npy") << "x";
  const auto stray = PrivateCopy::of(fetched);
  ASSERT_FALSE(stray);
  EXPECT_EQ(stray.error().code, Code::kDataLoss);
}

TEST_F(AttackCases, Case32RootsAreNamedNeverDiscovered) {
  artifact.writeTrust(fetched);
  fs::create_directories(fetched + "/trust");
  artifact.writeTrust(fetched + "/trust");
  const auto trust = Trust::load("", std::nullopt);
  ASSERT_FALSE(trust);
  EXPECT_EQ(trust.error().code, Code::kInvalidArgument);
  EXPECT_NE(trust.error().message.find("--trust-root"), std::string::npos);
  EXPECT_FALSE(Trust::load(directory / "no-such-root.json", std::nullopt));
}

TEST_F(OpenTest, WithoutAPolicyTheDefaultOneDecides) {
  const std::string root = directory / "root.json";
  const auto trust = Trust::load(root, std::nullopt);
  ASSERT_TRUE(trust) << trust.error().message;
  EXPECT_EQ(trust->policy.toJson(), defaultPolicy().toJson());
  EXPECT_FALSE(openArtifact(fetched, {}, *trust, SystemClock())) << "it wants no development root";
  const auto missing = Trust::load(root, directory / "no-such-policy.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().message.find("--policy"), std::string::npos) << missing.error().message;
  std::ofstream(directory / "policy.json", std::ios::trunc) << "{}";
  const auto malformed = Trust::load(root, directory / "policy.json");
  ASSERT_FALSE(malformed);
  EXPECT_EQ(malformed.error().code, Code::kInvalidArgument) << malformed.error().message;
}

TEST_F(OpenTest, CApiVerifiesBeforeItLoads) {
  kiln_node* node = nullptr;
  char* message = nullptr;
  const auto root = directory / "root.json", policy = directory / "policy.json";
  EXPECT_EQ(kiln_node_open(fetched.c_str(), nullptr, nullptr, nullptr, &node, &message),
            static_cast<int>(Code::kInvalidArgument));
  EXPECT_NE(std::string(message).find("no trust root"), std::string::npos);
  kiln_node_free_message(message);
  EXPECT_EQ(kiln_node_open(fetched.c_str(), digestOf("another").text().c_str(), root.c_str(), policy.c_str(),
                           &node, &message),
            static_cast<int>(Code::kDataLoss));
  kiln_node_free_message(message);
  EXPECT_EQ(kiln_node_open(fetched.c_str(), "no digest", root.c_str(), policy.c_str(), &node, nullptr),
            static_cast<int>(Code::kInvalidArgument));
  EXPECT_EQ(kiln_node_open(nullptr, nullptr, root.c_str(), policy.c_str(), &node, &message),
            static_cast<int>(Code::kInvalidArgument));
  EXPECT_STREQ(message, "no artifact directory is given");
  kiln_node_free_message(message);
  // The signature holds, but this program is text: the runtime refuses it after the verification.
  EXPECT_EQ(kiln_node_open(fetched.c_str(), nullptr, root.c_str(), policy.c_str(), &node, &message),
            static_cast<int>(Code::kDataLoss));
  EXPECT_NE(std::string(message).find("program.so"), std::string::npos) << message;
  kiln_node_free_message(message);
}

// An empty text is nobody's wish: not for no policy, nor for whatever artifact is there.
TEST_F(OpenTest, CApiRefusesAnEmptyTextAndNamesTheArgument) {
  const auto root = directory / "root.json", policy = directory / "policy.json";
  const std::string digest = artifact.farm.artifact.text();
  constexpr std::array<const char*, 5> kArguments{"directory", "digest", "trust_root", "policy", "recalls"};
  for (std::size_t empty = 0; empty < kArguments.size(); ++empty) {
    std::array<const char*, 5> given{fetched.c_str(), digest.c_str(), root.c_str(), policy.c_str(), nullptr};
    given[empty] = "";
    const std::string expected = std::string(kArguments[empty]) + " is \"\"";
    kiln_node* node = nullptr;
    char* message = nullptr;
    EXPECT_EQ(kiln_node_open_with_recalls(given[0], given[1], given[2], given[3], given[4], &node, &message),
              static_cast<int>(Code::kInvalidArgument));
    ASSERT_NE(message, nullptr) << expected;
    EXPECT_TRUE(std::string(message).starts_with(expected)) << message;
    kiln_node_free_message(message);
    EXPECT_EQ(node, nullptr);
  }
}

TEST_F(OpenTest, CApiTakesNoDigestForAnyArtifact) {
  const auto root = directory / "root.json", policy = directory / "policy.json";
  kiln_node* node = nullptr;
  char* message = nullptr;
  EXPECT_EQ(
      kiln_node_open(fetched.c_str(), Digest{}.text().c_str(), root.c_str(), policy.c_str(), &node, &message),
      static_cast<int>(Code::kDataLoss));
  EXPECT_NE(std::string(message).find("instead of " + Digest{}.text()), std::string::npos) << message;
  kiln_node_free_message(message);
  EXPECT_EQ(kiln_node_open(fetched.c_str(), nullptr, root.c_str(), policy.c_str(), nullptr, nullptr),
            static_cast<int>(Code::kInvalidArgument));
  EXPECT_EQ(kiln_node_recheck(nullptr, root.c_str(), policy.c_str(), nullptr, nullptr),
            static_cast<int>(Code::kInvalidArgument));
}

TEST_F(OpenTest, AnEmptyPathIsNotTheWishForNone) {
  const std::string root = directory / "root.json";
  for (const auto& trust : {Trust::load(root, ""), Trust::load(root, std::nullopt, "")}) {
    ASSERT_FALSE(trust);
    EXPECT_EQ(trust.error().code, Code::kInvalidArgument);
    EXPECT_NE(trust.error().message.find("is \"\"; name a file"), std::string::npos) << trust.error().message;
  }
  const auto opened = openArtifact("", {}, artifact.trust, SystemClock());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::node
