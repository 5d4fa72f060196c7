// Fetching from a store that cannot be trusted. Numbers are those of the attack list in the trust reference.
#include "api/node/fetch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/fixture_list.h"
#include "signing/bundle/bundle.h"
#include "tests/api/node/lying_store.h"
#include "tests/api/node/signed_artifact.h"

namespace kiln::node {
namespace {

namespace fs = std::filesystem;
using testing_support::Lie;

struct FetchTest : testing::Test {
  testing_support::SignedArtifact artifact;
  testing_support::LyingStore store{artifact.farm.store};
  testing_support::TempDirectory directory;
  std::string destination = directory / "out";

  Result<signing::Verdict> fetch() {
    return fetchArtifact(store, artifact.ref, destination, artifact.trust, SystemClock());
  }
  void expectNothingLeft(const std::string& what) {
    EXPECT_TRUE(fs::is_empty(directory.path())) << what << " left something behind";
  }
  void expectRefused(const std::string& what) {
    const auto verdict = fetch();
    ASSERT_FALSE(verdict) << what << " was accepted";
    EXPECT_NE(verdict.error().details.find("\"exitCode\":5"), std::string::npos)
        << what << ": " << verdict.error().message;
    expectNothingLeft(what);
  }
};

TEST_F(FetchTest, NobodyElseMayWriteItWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const auto verdict = fetch();
  ::umask(before);
  ASSERT_TRUE(verdict) << verdict.error().message;
  std::size_t seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(destination)) {
    EXPECT_EQ(entry.status().permissions() & fs::perms(0022), fs::perms::none) << entry.path();
    ++seen;
  }
  EXPECT_GT(seen, 8u);
  EXPECT_EQ(fs::status(destination).permissions() & fs::perms(0022), fs::perms::none);
}

TEST_F(FetchTest, LeavesAVerifiedDirectory) {
  const auto verdict = fetch();
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_TRUE(verdict->passed);
  EXPECT_EQ(digestOfFile(destination + "/artifact.json")->hex(), artifact.farm.artifact.hex());
  for (const char* name : {"manifest.json", "program.so", "weights/0000.bin", "fixtures/fixtures.json",
                           "fixtures/default/input_0.npy"}) {
    EXPECT_TRUE(fs::is_regular_file(destination + "/" + name)) << name;
    EXPECT_EQ(fs::status(destination + "/" + name).permissions() & fs::perms(0222), fs::perms::none) << name;
  }
  EXPECT_TRUE(signing::verifyDirectory({destination, artifact.farm.artifact}, artifact.trust.root,
                                       artifact.trust.policy, SystemClock())
                  .passed);
}

TEST_F(FetchTest, TheIrIsWhatItsStatementSays) {
  const IrStatement ir = artifact.addIr(artifact.farm.key);
  const auto verdict = fetchIr(store, artifact.ref, destination, artifact.trust, SystemClock());
  ASSERT_TRUE(verdict) << verdict.error().message;
  ASSERT_NE(verdict->ir(), nullptr);
  for (const ModelFile& file : ir.files)
    EXPECT_EQ(digestOfFile(destination + "/" + file.path).value(), file.digest) << file.path;
  EXPECT_FALSE(fs::exists(destination + "/program.so"));
  fs::remove_all(destination);

  for (const ModelFile& file : ir.files) {
    artifact.farm.store.flipBit("default", file.digest);
    const auto tampered =
        fetchIr(artifact.farm.store, artifact.ref, destination, artifact.trust, SystemClock());
    ASSERT_FALSE(tampered) << file.path;
    EXPECT_NE(tampered.error().details.find("\"exitCode\":5"), std::string::npos) << tampered.error().message;
    EXPECT_NE(tampered.error().message.find(file.path), std::string::npos) << tampered.error().message;
    expectNothingLeft(file.path);
    artifact.farm.store.flipBit("default", file.digest);
  }
}

TEST_F(FetchTest, NoIrWithoutAStatementThatCounts) {
  for (int i = 0; i < 2; ++i) {
    const auto none = fetchIr(store, artifact.ref, destination, artifact.trust, SystemClock());
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::kNotFound);
    EXPECT_NE(none.error().message.find("--keep-ir"), std::string::npos) << none.error().message;
    expectNothingLeft("no IR");
    artifact.addIr(signing::PrivateKey::create().value());  // of nobody that the root knows
  }
}

TEST_F(FetchTest, WhatThirdPartiesSayDoesNotMakeItUnfetchable) {
  const auto another = [&] {
    const Json statement{
        {"_type", "https://in-toto.io/Statement/v1"},
        {"subject", {{{"digest", {{"sha256", artifact.farm.artifact.hex()}}}, {"name", "artifact.json"}}}},
        {"predicateType", "urn:example:note"},
        {"predicate", {{"n", artifact.ref.bundles.size()}}}};
    const auto envelope =
        signing::signEnvelope(signing::kInTotoPayload, toCanonicalJson(statement).value(), artifact.farm.key);
    return artifact.farm.put(signing::makeBundle(*envelope, artifact.farm.key.publicKey()).value());
  };
  while (artifact.ref.bundles.size() < kMaxBundles) artifact.ref.bundles.push_back(another());
  const auto verdict = fetch();
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_EQ(verdict->counted.size(), kMaxBundles);
  const auto offline = signing::verifyDirectory({destination, artifact.farm.artifact}, artifact.trust.root,
                                                artifact.trust.policy, SystemClock());
  EXPECT_TRUE(offline.passed);
  fs::remove_all(destination);
  artifact.ref.bundles.push_back(another());
  expectRefused("one more than an artifact may have");
}

// Nobody has looked at a signature by then: what is offered may be anybody's.
TEST_F(FetchTest, NoneOfTheBundlesIsReadWhenAllAreMoreThanAnArtifactMayHave) {
  store.lie = Lie::kFail;
  store.about = artifact.ref.bundles[0];
  for (std::uint64_t left = kMaxBundlesBytes; left > 0; left -= std::min(left, kMaxBundleBytes)) {
    Digest large = digestOf("bundle " + std::to_string(left));
    large.size = std::min(left, kMaxBundleBytes);
    artifact.ref.bundles.push_back(large);
  }
  expectRefused("bundles of more bytes than an artifact may have");
  artifact.ref.bundles.pop_back();
  EXPECT_EQ(fetch().error().code, Code::kUnavailable) << "as many as may be are asked for";
  artifact.ref.bundles.resize(1);
  artifact.ref.bundles[0].size = kMaxBundleBytes + 1;
  expectRefused("a bundle larger than any");
}

TEST_F(FetchTest, OneFlippedBitInAnyBlobLeavesNothing) {  // 4
  for (const auto& [name, digest] : artifact.blobs()) {
    store.about = digest;
    store.lie = Lie::kFlip;
    expectRefused("a flipped bit in " + name);
  }
}

TEST_F(FetchTest, Case05TruncatedOversizedAndEndlessBlobsAreRefused) {
  for (const auto lie : {Lie::kTruncate, Lie::kExtend, Lie::kEndless, Lie::kOther}) {
    for (const auto& [name, digest] : artifact.blobs()) {
      store.about = digest;
      store.lie = lie;
      expectRefused("lie " + std::to_string(static_cast<int>(lie)) + " about " + name);
    }
  }
}

TEST_F(FetchTest, ABrokenConnectionIsNotAVerdict) {
  store.lie = Lie::kFail;
  for (const auto code :
       {Code::kUnavailable, Code::kDeadlineExceeded, Code::kPermissionDenied, Code::kResourceExhausted}) {
    for (const auto& [name, digest] : artifact.blobs()) {
      store.about = digest;
      store.failure = code;
      const auto verdict = fetch();
      ASSERT_FALSE(verdict) << name;
      EXPECT_EQ(verdict.error().code, code) << name;
      EXPECT_EQ(verdict.error().details, "") << name;
      expectNothingLeft(name);
    }
  }
}

// Then what named it is wrong: the index for what it lists, the artifact for its files.
TEST_F(FetchTest, ADigestThatTheStoreTakesForNoneIsAVerdict) {
  store.lie = Lie::kFail;
  for (const auto code : {Code::kInvalidArgument, Code::kOutOfRange}) {
    for (const auto& [name, digest] : artifact.blobs()) {
      store.about = digest;
      store.failure = code;
      expectRefused(std::string(codeName(code)) + " for " + name);
    }
  }
}

TEST_F(FetchTest, AFileThatTheStoreLacksIsNamedInTheVerdict) {
  for (const auto& [name, digest] : artifact.blobs()) {
    const bool offered = name == "artifact.json" || name == "bundle" || name == "fixtures/fixtures.json";
    store.about = digest;
    store.lie = Lie::kFail;
    store.failure = Code::kNotFound;
    if (offered) {
      const auto verdict = fetch();
      ASSERT_FALSE(verdict) << name;
      EXPECT_EQ(verdict.error().code, Code::kNotFound) << name;
      expectNothingLeft(name);
      continue;
    }
    for (const auto lie : {Lie::kFail, Lie::kTruncate}) {
      store.lie = lie;
      expectRefused("a missing " + name);
      const Json details = Json::parse(fetch().error().details);
      ASSERT_EQ(details.value("failed", Json::array()).size(), 1u) << name << ": " << details.dump();
      EXPECT_NE(details["failed"][0]["check"].get<std::string>().find(name.substr(name.find('/') + 1)),
                std::string::npos)
          << name << ": " << details.dump();
    }
  }
}

TEST_F(FetchTest, WhatIsSaidOfAnArtifactIsVerifiedWithoutItsFiles) {
  const auto examine = [&] { return examineArtifact(store, artifact.ref, artifact.trust, SystemClock()); };
  const auto said = examine();
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->manifest.spec, artifact.farm.manifest.spec);
  EXPECT_EQ(said->statements.size(), 1u);
  for (const auto& [name, digest] : artifact.blobs()) {
    const bool read = name == "artifact.json" || name == "manifest.json" || name == "bundle";
    store.about = digest;
    for (const auto lie : {Lie::kFlip, Lie::kTruncate, Lie::kExtend, Lie::kEndless, Lie::kOther}) {
      store.lie = lie;
      const auto refused = examine();
      ASSERT_EQ(refused.has_value(), !read) << name;
      if (read) EXPECT_NE(refused.error().details.find("\"exitCode\":5"), std::string::npos) << name;
    }
    store.lie = Lie::kFail;
    store.failure = Code::kUnavailable;
    const auto broken = examine();
    ASSERT_EQ(broken.has_value(), !read) << name;
    if (read) EXPECT_EQ(broken.error().code, Code::kUnavailable) << name;
  }
  store.lie = Lie::kNone;
  artifact.ref.bundles.clear();
  EXPECT_FALSE(examine()) << "an unsigned artifact";
}

TEST_F(FetchTest, SignatureOfAnotherArtifactIsRefused) {  // 6, 24
  testing_support::SignedArtifact other;
  other.farm.manifest.profiles[0].arenaBytes += 4096;
  const auto text = *toCanonicalJson(other.farm.manifest.toJson());
  const auto oci = *makeOciManifest(other.farm.manifest, artifact.farm.put(text));
  artifact.ref.artifact = artifact.farm.put(oci);  // everything is there, but signed was something else
  expectRefused("a replayed signature");
}

TEST_F(FetchTest, NoBundleIsNoSignature) {
  artifact.ref.bundles.clear();
  expectRefused("an unsigned artifact");
}

// Rows that were swapped or doubled lead to one bundle twice: that is no mistake of the caller's.
TEST_F(FetchTest, ABundleThatIsOfferedTwiceChangesNoVerdict) {
  const std::vector<Digest> honest = artifact.ref.bundles;
  for (const Digest& bundle : honest) artifact.ref.bundles.push_back(bundle);
  const auto verdict = fetch();
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_EQ(verdict->counted.size(), honest.size());
  fs::remove_all(destination);

  const Digest foreign = artifact.farm.put(testing_support::SignedArtifact().bundle);
  artifact.ref.bundles = {foreign, foreign};
  expectRefused("a bundle of another key, twice");
}

// The index's word for the size of a blob.
TEST_F(FetchTest, ASizeThatNoBlobHasIsRefused) {
  for (const std::uint64_t size : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    for (Digest* digest : {&artifact.ref.artifact, &artifact.ref.bundles.at(0)}) {
      const Digest kept = *digest;
      digest->size = size;
      const auto verdict = fetch();
      ASSERT_FALSE(verdict) << size;
      const Code code = verdict.error().code;
      EXPECT_TRUE(code == Code::kDataLoss || code == Code::kNotFound) << verdict.error().message;
      expectNothingLeft("a size of " + std::to_string(size));
      *digest = kept;
    }
  }
}

// Neither is asked for: no document of an artifact is so long.
TEST_F(FetchTest, ADocumentThatIsTooLongIsNotRead) {
  const std::vector<std::pair<Digest*, std::uint64_t>> documents{
      {&artifact.ref.artifact, kMaxOciManifestBytes},
      {&artifact.ref.bundles[0], 12u << 20},
      {&artifact.ref.fixtures[0].digest, kMaxFixtureListBytes}};
  for (const auto& [digest, limit] : documents) {
    const Digest kept = *digest;
    digest->size = limit + 1;
    expectRefused("one byte more than " + std::to_string(limit));
    EXPECT_NE(fetch().error().message.find("larger than " + std::to_string(limit)), std::string::npos);
    digest->size = limit;
    EXPECT_EQ(fetch().error().code, Code::kNotFound) << "as long as it may be, and not there";
    *digest = kept;
  }
}

TEST_F(FetchTest, SignerMustBeTheRootsForThisBuilder) {  // 9
  artifact.trust.root = signing::developmentRoot(signing::PrivateKey::create()->publicKey(),
                                                 signing::kBuilderId, SystemClock().now());
  expectRefused("a stranger's key");
  artifact.trust.root = signing::developmentRoot(artifact.farm.key.publicKey(), "urn:kiln:builder:another",
                                                 SystemClock().now());
  expectRefused("a key that does not speak for this builder");
}

TEST_F(FetchTest, PolicyDecides) {
  artifact.trust.policy.minBuilders = 3;
  expectRefused("too few builders");
  artifact.trust.policy = defaultPolicy();  // refuses development roots
  expectRefused("a development root");
}

// How large files are is anybody's word until it is signed: an endless one would come as a broken connection
// here.
TEST_F(FetchTest, NoFileIsAskedForBeforeTheSignaturesHold) {
  artifact.trust.policy.minBuilders = 3;
  store.lie = Lie::kFail;
  for (const auto& [name, digest] : artifact.blobs()) {
    if (name != "program.so" && !name.starts_with("weights/") && !name.ends_with(".npy")) continue;
    store.about = digest;
    expectRefused(name + " behind a policy that does not hold");
  }
}

TEST_F(FetchTest, UnsafeFixturePathsAreRefused) {
  artifact.ref.fixtures[1].path = "../../escape";
  expectRefused("a fixture outside the directory");
  EXPECT_FALSE(fs::exists(directory / "escape"));
  artifact.ref.fixtures[1].path = "/tmp/escape";
  expectRefused("an absolute fixture");
  artifact.ref.fixtures[0].path = "../fixtures.json";
  expectRefused("a list outside the directory");
}

TEST_F(FetchTest, FixturesAreThoseThatTheProvenanceNames) {
  const auto honest = artifact.ref.fixtures;
  artifact.ref.fixtures.push_back({"default/extra.npy", artifact.farm.put("planted")});
  expectRefused("a planted fixture");
  auto others = artifact.farm.fixtures;
  others["default/input_0.npy"] = "another tensor";
  artifact.farm.put(others["default/input_0.npy"]);
  artifact.ref.fixtures = honest;
  artifact.ref.fixtures[0].digest = artifact.farm.put(testing_support::fixtureListOf(others));
  expectRefused("a consistent set of other fixtures");
  artifact.ref.fixtures = {honest.begin() + 1, honest.end()};
  expectRefused("fixtures without their list");
  artifact.ref.fixtures = honest;
  artifact.ref.fixtures[1].digest = digestOf("what the index says of a listed file does not matter");
  EXPECT_TRUE(fetch());
}

// An index that lists a file again adds nothing, up to as many rows as an artifact may have files.
TEST_F(FetchTest, NoMoreFixturesAreLookedAtThanAnArtifactMayHave) {
  const FixtureFile listed = artifact.ref.fixtures[1];
  artifact.ref.fixtures.resize(kMaxFixtureFiles + 1, listed);
  const auto most = fetch();
  ASSERT_TRUE(most) << most.error().message;
  fs::remove_all(destination);
  artifact.ref.fixtures.push_back(listed);
  expectRefused("one more");
}

TEST_F(FetchTest, AnArtifactMayComeWithoutFixtures) {
  artifact.ref.fixtures.clear();
  EXPECT_TRUE(fetch());
  EXPECT_FALSE(fs::exists(destination + "/fixtures"));
}

TEST_F(FetchTest, NeverReplacesWhatIsThere) {
  fs::create_directories(destination);
  ASSERT_TRUE(fetch()) << "an empty directory may be filled";
  const auto again = fetch();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  EXPECT_TRUE(fs::exists(destination + "/artifact.json"));
}

TEST_F(FetchTest, MissingArtifactIsNotFound) {
  artifact.ref.artifact = digestOf("nobody published this");
  const auto verdict = fetch();
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, Code::kNotFound);
  expectNothingLeft("a missing artifact");
}

}  // namespace
}  // namespace kiln::node
