// Threshold-signed roots, their successors, and what a client remembers of them.
#include "signing/trust/trust_store.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "signing/trust/trust_state.h"
#include "tests/support/signed_root.h"
#include "tests/support/temp_directory.h"

namespace kiln::signing {
namespace {

using testing_support::signedBy;
using testing_support::thresholdOf;

const TimePoint kNow = parseRfc3339("2026-11-20T06:00:00Z").value();

struct RootTest : ::testing::Test {
  testing_support::TempDirectory directory;
  const std::string path = directory / "root.json";
  std::vector<PrivateKey> old = testing_support::newKeys(3), fresh = testing_support::newKeys(2);
  PrivateKey signer = PrivateKey::create().value();
  TrustRoot first = version(1, thresholdOf(2, old));

  TrustRoot version(std::uint64_t number, ThresholdKeys keys) const {
    TrustRoot root = developmentRoot(signer.publicKey(), "urn:b", kNow);
    root.development = false;
    root.version = number;
    root.rootKeys = std::move(keys);
    return root;
  }
  void place(const RootFile& file) const { std::ofstream(path, std::ios::trunc) << file.text(); }
  Status openAfter(const RootFile& file) const {
    place(file);
    auto store = TrustStore::open(path);
    if (!store) return fail(store.error());
    EXPECT_EQ(store->root().version, file.root.version);
    return {};
  }
  void expectRefused(const RootFile& file, const std::string& why) const {
    const Status opened = openAfter(file);
    ASSERT_FALSE(opened) << why;
    EXPECT_EQ(opened.error().code, Code::kDataLoss);
    EXPECT_NE(opened.error().message.find(why), std::string::npos) << opened.error().message;
    EXPECT_NE(opened.error().message.find("root.json"), std::string::npos);
  }
};
struct AttackCases : RootTest {};

TEST_F(RootTest, KeepsItsSignaturesInAFile) {
  const RootFile file = signedBy(first, {&old[0], &old[1]});
  const RootFile back = RootFile::parse(file.text()).value();
  EXPECT_EQ(back.signers(first.rootKeys->keys).size(), 2u);
  EXPECT_TRUE(checkSigned(back));
  EXPECT_EQ(back.root.toJson(), first.toJson());
  EXPECT_FALSE(TrustRoot::parse(file.text())) << "an envelope is no document";
}

TEST_F(RootTest, NobodySignsTwice) {
  RootFile file = signedBy(first, {&old[0]});
  ASSERT_TRUE(file.sign(old[0]));
  EXPECT_EQ(file.envelope.signatures.size(), 1u);
  ASSERT_TRUE(file.sign(old[1]));
  EXPECT_EQ(file.envelope.signatures.size(), 2u);
  EXPECT_TRUE(checkSigned(file));
}

TEST_F(RootTest, WhatIsSignedIsInCanonicalForm) {
  RootFile file = signedBy(first, {});
  file.envelope.payload += "\n";
  for (const PrivateKey& key : old) ASSERT_TRUE(file.sign(key));
  EXPECT_FALSE(RootFile::parse(file.text()));
  for (const char* text : {"", "[]", "1", "{}", R"({"payloadType":1})"})
    EXPECT_FALSE(RootFile::parse(text)) << text;
}

TEST_F(RootTest, WantsItsOwnThreshold) {
  expectRefused(signedBy(first, {&old[0]}), "signed by 1 of the 2 root keys");
  expectRefused(signedBy(first, {&old[0], &fresh[0]}), "signed by 1 of the 2");
  expectRefused(signedBy(first, {}), "signed by 0 of the 2");
  TrustRoot nobody = first;
  nobody.rootKeys.reset();
  expectRefused(signedBy(nobody, {}), "names no root keys");
  EXPECT_TRUE(openAfter(signedBy(first, {&old[2], &old[0]})));
}

// Policies refuse roots for development: a threshold of keys that is taken over cannot slip past them either.
TEST_F(AttackCases, Case13ASignedRootDoesNotBecomeOneForDevelopment) {
  TrustRoot second = version(2, thresholdOf(2, old));
  second.development = true;
  EXPECT_TRUE(openAfter(signedBy(first, {&old[0], &old[1]})));
  expectRefused(signedBy(second, {&old[0], &old[1]}), "marked development");
  second.development = false;
  EXPECT_TRUE(openAfter(signedBy(second, {&old[0], &old[1]})));
}

TEST_F(RootTest, ARootForDevelopmentMayCeaseToBeOne) {
  first.development = true;
  EXPECT_TRUE(openAfter(signedBy(first, {&old[0], &old[1]})));
  TrustRoot second = version(2, thresholdOf(2, old));
  second.development = true;
  EXPECT_TRUE(openAfter(signedBy(second, {&old[0], &old[1]})));
  EXPECT_TRUE(openAfter(signedBy(version(3, thresholdOf(2, old)), {&old[0], &old[1]})));
  second.version = 4;
  expectRefused(signedBy(second, {&old[0], &old[1]}), "marked development");
}

TEST_F(RootTest, OthersMayNotWriteIt) {
  place(signedBy(first, {&old[0], &old[1]}));
  ASSERT_TRUE(TrustStore::open(path));
  for (const mode_t mode : {0646, 0666}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_EQ(TrustStore::open(path).error().code, Code::kPermissionDenied);
    EXPECT_EQ(TrustRoot::load(path).error().code, Code::kPermissionDenied);
  }
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  ASSERT_EQ(::chmod((path + ".state").c_str(), 0606), 0);
  EXPECT_EQ(TrustStore::open(path).error().code, Code::kPermissionDenied) << "nor what is remembered of it";
}

TEST_F(AttackCases, Case07ARootKeyCountsOnceHoweverOftenItSigned) {
  RootFile file = signedBy(first, {&old[0]});
  file.envelope.signatures.push_back(
      signEnvelope(kRootPayload, file.envelope.payload, old[0])->signatures[0]);
  ASSERT_EQ(file.envelope.signatures.size(), 2u);
  expectRefused(file, "signed by 1 of the 2");
  RootFile confused = signedBy(first, {});
  for (const PrivateKey& key : old)
    confused.envelope.signatures.push_back(
        signEnvelope(kInTotoPayload, confused.envelope.payload, key)->signatures[0]);
  expectRefused(confused, "signed by 0 of the 2");
}

TEST_F(RootTest, ASuccessorIsSignedByBothThresholds) {
  const TrustRoot second = version(2, thresholdOf(2, fresh));
  ASSERT_TRUE(openAfter(signedBy(first, {&old[0], &old[1]})));
  expectRefused(signedBy(second, {&fresh[0], &fresh[1]}), "that version 1 wants");
  expectRefused(signedBy(second, {&fresh[0], &fresh[1], &old[0]}), "that version 1 wants");
  expectRefused(signedBy(second, {&old[0], &old[1], &fresh[0]}), "that it wants");
  EXPECT_TRUE(openAfter(signedBy(second, {&old[0], &old[1], &fresh[0], &fresh[1]})));
  EXPECT_TRUE(openAfter(signedBy(second, {&fresh[0], &fresh[1]}))) << "the same again, by its own keys";
  // The keys that are gone have no say any more.
  expectRefused(signedBy(version(3, thresholdOf(2, old)), {&old[0], &old[1]}), "that version 2 wants");
}

TEST_F(AttackCases, Case13RootRollbackIsRefused) {
  TrustRoot second = first, sibling = first;
  second.version = 2;
  sibling.builders[0].id = "urn:other";
  ASSERT_TRUE(openAfter(signedBy(first, {&old[0], &old[1]})));
  ASSERT_TRUE(openAfter(signedBy(second, {&old[0], &old[1]})));
  expectRefused(signedBy(first, {&old[0], &old[1]}), "version 1 is not after version 2");
  sibling.version = 2;  // another of the same version
  expectRefused(signedBy(sibling, {&old[0], &old[1]}), "version 2 is not after version 2");
  place(signedBy(second, {&old[1], &old[2]}));
  EXPECT_TRUE(TrustStore::open(path)) << "other signatures under the same content";
}

TEST_F(AttackCases, Case13ASignedRootNeverBecomesADevelopmentRoot) {
  ASSERT_TRUE(openAfter(signedBy(first, {&old[0], &old[1]})));
  expectRefused(RootFile::of(developmentRoot(PrivateKey::create()->publicKey(), "urn:b", kNow)).value(),
                "is not signed");
}

TEST_F(RootTest, ARootThatNamesNoKeysHasNoSuccessor) {
  TrustRoot before = version(1, {});
  before.rootKeys.reset();
  before.development = true;
  ASSERT_TRUE(openAfter(signedBy(before, {&old[0]}))) << "signed, but by nobody that it names";
  TrustRoot next = version(2, thresholdOf(2, old));
  next.development = true;
  expectRefused(signedBy(next, {&old[0], &old[1]}), "names no keys for a successor");
}

// A root that is held back ends: nobody signs for it then.
TEST_F(AttackCases, Case13AFrozenRootExpires) {
  ASSERT_TRUE(openAfter(signedBy(first, {&old[0], &old[1]})));
  const TrustRoot root = TrustStore::open(path)->root();
  EXPECT_TRUE(root.checkSigner(signer.publicKey().id(), "urn:b", kNow));
  const Status late = root.checkSigner(signer.publicKey().id(), "urn:b", first.expires);
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("the trust root expired"), std::string::npos);
}

TEST_F(AttackCases, Case13ADamagedMemoryIsNoFreshStart) {
  ASSERT_TRUE(openAfter(signedBy(first, {&old[0], &old[1]})));
  std::ofstream(path + ".state", std::ios::trunc) << "{";
  const auto opened = TrustStore::open(path);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kDataLoss);
  EXPECT_NE(opened.error().message.find("root.json.state"), std::string::npos);
}

TEST_F(RootTest, OfItsMemoryEveryMemberIsWanted) {
  ASSERT_TRUE(openAfter(signedBy(first, {&old[0], &old[1]})));
  const std::string state = path + ".state";
  const Json good = Json::parse(std::ifstream(state));
  const auto loads = [&](const Json& json) {
    std::ofstream(state, std::ios::trunc) << json.dump();
    const auto loaded = TrustState::load(state);
    if (!loaded) EXPECT_EQ(loaded.error().code, Code::kDataLoss);
    return loaded.has_value();
  };
  EXPECT_TRUE(loads(good));
  for (const auto& [name, value] : good.items()) {
    Json bad = good;
    bad[name] = Json::array();
    EXPECT_FALSE(loads(bad)) << name;
    bad.erase(name);
    EXPECT_FALSE(loads(bad)) << name;
  }
  for (const char* name : {"apiVersion", "kind", "more"}) {
    Json bad = good;
    bad[name] = "another";
    EXPECT_FALSE(loads(bad)) << name;
  }
}

TEST_F(AttackCases, Case22ItIsNeverEarlierThanWhatWitnessesSaw) {
  ASSERT_TRUE(openAfter(signedBy(first, {&old[0], &old[1]})));
  TrustStore one = TrustStore::open(path).value(), two = TrustStore::open(path).value();
  ASSERT_TRUE(one.rememberTime(kNow + std::chrono::hours(2)));
  ASSERT_TRUE(two.rememberTime(kNow + std::chrono::hours(1)));
  EXPECT_EQ(one.latestSeen(), kNow + std::chrono::hours(2));
  EXPECT_EQ(TrustStore::open(path)->latestSeen(), kNow + std::chrono::hours(2)) << "the later one stays";
  ASSERT_TRUE(one.rememberTime(kNow));
  EXPECT_EQ(one.latestSeen(), kNow + std::chrono::hours(2));
  ASSERT_TRUE(two.rememberTime(kNow + std::chrono::hours(3)));
  EXPECT_EQ(TrustStore::open(path)->latestSeen(), kNow + std::chrono::hours(3));
}

TEST_F(RootTest, RemembersTheNewestRecalls) {
  TrustRoot root = first;
  root.recallKeys = RecallKeys{thresholdOf(1, fresh), 2, 10};
  ASSERT_TRUE(openAfter(signedBy(root, {&old[0], &old[1]})));
  TrustStore one = TrustStore::open(path).value(), two = TrustStore::open(path).value();
  ASSERT_TRUE(one.rememberRecalls("second", 2));
  ASSERT_TRUE(two.rememberRecalls("first", 1));
  EXPECT_EQ(TrustStore::open(path)->recalls(), "second");
  ASSERT_TRUE(two.rememberRecalls("second, proven", 2));
  EXPECT_EQ(TrustStore::open(path)->recalls(), "second, proven") << "the same version with more beside it";
  EXPECT_EQ(two.recalls(), "second, proven");
  EXPECT_EQ(one.recalls(), "second") << "what it learnt itself";
  root.version = 2;
  ASSERT_TRUE(openAfter(signedBy(root, {&old[0], &old[1]})));
  EXPECT_EQ(TrustStore::open(path)->recalls(), "second, proven") << "the recall keys are the same";
  // Another recall key: what the old one signed, however high its version, is forgotten.
  root.version = 3;
  root.recallKeys = RecallKeys{thresholdOf(1, {old[0]}), 1, 10};
  ASSERT_TRUE(openAfter(signedBy(root, {&old[0], &old[1]})));
  EXPECT_EQ(TrustStore::open(path)->recalls(), "");
  ASSERT_TRUE(TrustStore::open(path)->rememberRecalls("first of the new key", 1));
  EXPECT_EQ(TrustStore::open(path)->recalls(), "first of the new key");
}

TEST_F(RootTest, AfterTheLastRecallKeyNothingOfItIsRemembered) {
  TrustRoot root = first;
  root.recallKeys = RecallKeys{thresholdOf(1, fresh), 2, 10};
  ASSERT_TRUE(openAfter(signedBy(root, {&old[0], &old[1]})));
  ASSERT_TRUE(TrustStore::open(path)->rememberRecalls("first", 1));
  root.version = 2;
  root.recallKeys.reset();
  ASSERT_TRUE(openAfter(signedBy(root, {&old[0], &old[1]})));
  EXPECT_EQ(TrustStore::open(path)->recalls(), "");
}

// It delegates, so that there is something to remember, though nobody signed it.
TEST_F(RootTest, OfADevelopmentRootThatDelegatesItIsRemembered) {
  TrustRoot root = developmentRoot(signer.publicKey(), "urn:b", kNow);
  root.recallKeys = RecallKeys{thresholdOf(1, fresh), 2, 10};
  ASSERT_TRUE(openAfter(RootFile::of(root).value()));
  ASSERT_TRUE(TrustStore::open(path)->rememberRecalls("first", 1));
  ASSERT_TRUE(TrustStore::open(path)->rememberTime(kNow));
  EXPECT_EQ(TrustStore::open(path)->recalls(), "first");
  EXPECT_EQ(TrustStore::open(path)->latestSeen(), kNow);
}

TEST_F(RootTest, MemoryIsForThisUserAlone) {
  ASSERT_TRUE(openAfter(signedBy(first, {&old[0], &old[1]})));
  struct stat facts{};
  ASSERT_EQ(::stat((path + ".state").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(RootTest, OfADevelopmentRootNothingIsRemembered) {
  ASSERT_TRUE(openAfter(RootFile::of(developmentRoot(signer.publicKey(), "urn:b", kNow)).value()));
  TrustStore store = TrustStore::open(path).value();
  ASSERT_TRUE(store.rememberTime(kNow));
  ASSERT_TRUE(store.rememberRecalls("first", 1));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1) << "the root alone";
}

// Root may write everywhere, unless it does without.
void overridePermissions(bool may) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct capabilities[2]{};
  ASSERT_EQ(::syscall(SYS_capget, &header, capabilities), 0);
  constexpr auto kOverride = 1u << CAP_DAC_OVERRIDE;
  auto& effective = capabilities[0].effective;
  effective = may ? effective | (capabilities[0].permitted & kOverride) : effective & ~kOverride;
  ASSERT_EQ(::syscall(SYS_capset, &header, capabilities), 0);
}

TEST_F(RootTest, AReadOnlyFolderKeepsNothing) {
  place(signedBy(first, {&old[0], &old[1]}));
  ::chmod(directory.path().c_str(), 0500);
  overridePermissions(false);
  const auto store = TrustStore::open(path);
  EXPECT_TRUE(store) << store.error().message;
  const auto remembered = store ? TrustStore(*store).rememberTime(kNow) : Status{};
  overridePermissions(true);
  ::chmod(directory.path().c_str(), 0700);
  EXPECT_TRUE(remembered) << remembered.error().message;
  EXPECT_FALSE(std::filesystem::exists(path + ".state"));
}

TEST_F(RootTest, AMemoryThatCannotBeLockedIsAnError) {
  std::filesystem::create_directory(path + ".state.lock");
  const Status opened = openAfter(signedBy(first, {&old[0], &old[1]}));
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("root.json.state.lock"), std::string::npos) << opened.error().message;
  EXPECT_FALSE(std::filesystem::exists(path + ".state"));
}

TEST_F(RootTest, WhatFailedBeforeDoesNotMakeItForget) {
  const std::string state = path + ".state";
  for (const int before : {EACCES, EPERM, EROFS}) {
    errno = before;
    ASSERT_TRUE(TrustState::update(state, [&](TrustState& memory) -> Status {
      memory.recallsVersion = static_cast<std::uint64_t>(before);
      return {};
    }));
    EXPECT_EQ(TrustState::load(state)->recallsVersion, static_cast<std::uint64_t>(before));
  }
}

TEST_F(RootTest, AChangeThatIsRefusedIsNotKept) {
  const std::string state = path + ".state";
  const Status refused = TrustState::update(state, [](TrustState& memory) -> Status {
    memory.recallsVersion = 7;
    return fail(Code::kDataLoss, "no");
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "no");
  EXPECT_FALSE(std::filesystem::exists(state));
  EXPECT_EQ(TrustState::load(state).value(), TrustState{});
}

struct RevocationTest : RootTest {
  Revocation stolen{"", kNow, "stolen", {{"log.example", 100}}};
};

TEST_F(RevocationTest, LogOrderDecides) {  // attack 12
  LogPosition before{"log.example", 99, {}}, after{"log.example", 100, kNow - std::chrono::days(1)};
  EXPECT_FALSE(stolen.spares(nullptr));
  EXPECT_TRUE(stolen.spares(&before));
  EXPECT_FALSE(stolen.spares(&after)) << "the order, not the time";
  LogPosition other{"other.example", 5, {}};
  EXPECT_FALSE(stolen.spares(&other)) << "no order, no time";
  other.cosigned = kNow - std::chrono::seconds(1);
  EXPECT_TRUE(stolen.spares(&other));
  other.cosigned = kNow;
  EXPECT_FALSE(stolen.spares(&other));
}

TEST_F(RevocationTest, AKeyCountsFromItsFirstMomentToItsLast) {
  const std::string id = signer.publicKey().id();
  const auto second = std::chrono::seconds(1);
  first.keys[0].validFrom = kNow;
  first.keys[0].validUntil = kNow + std::chrono::hours(1);
  EXPECT_FALSE(first.checkSigner(id, "urn:b", kNow - second));
  EXPECT_TRUE(first.checkSigner(id, "urn:b", kNow));
  EXPECT_TRUE(first.checkSigner(id, "urn:b", first.keys[0].validUntil - second));
  EXPECT_FALSE(first.checkSigner(id, "urn:b", first.keys[0].validUntil));
  first.keys[0].validUntil = first.expires + std::chrono::hours(1);
  EXPECT_TRUE(first.checkSigner(id, "urn:b", first.expires - second));
  EXPECT_FALSE(first.checkSigner(id, "urn:b", first.expires)) << "the root ends";
  EXPECT_FALSE(first.checkSigner("another", "urn:b", kNow));
  EXPECT_FALSE(first.checkSigner(id, "urn:c", kNow));
  first.builders.push_back({"urn:c", {"another"}});
  EXPECT_FALSE(first.checkSigner(id, "urn:c", kNow));
  first.revocations = {stolen};
  EXPECT_TRUE(first.checkSigner(id, "urn:b", kNow)) << "another key was stolen";
  first.revocations[0].keyId = id;
  EXPECT_FALSE(first.checkSigner(id, "urn:b", kNow));
}

TEST_F(RevocationTest, ValidityIsJudgedByWhenWitnessesSawTheStatement) {  // attack 12
  const std::string id = signer.publicKey().id();
  first.expires = kNow + std::chrono::days(900);
  const TimePoint end = first.keys[0].validUntil, late = end + std::chrono::days(1);
  EXPECT_FALSE(first.checkSigner(id, "urn:b", late));
  LogPosition place{"log.example", 1, {}};
  EXPECT_FALSE(first.checkSigner(id, "urn:b", late, &place)) << "an order without a time";
  place.cosigned = end - std::chrono::seconds(1);
  EXPECT_TRUE(first.checkSigner(id, "urn:b", late, &place));
  place.cosigned = end;
  EXPECT_FALSE(first.checkSigner(id, "urn:b", late, &place));
}

}  // namespace
}  // namespace kiln::signing
