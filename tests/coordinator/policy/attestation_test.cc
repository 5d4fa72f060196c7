// Statements of third parties that a farm keeps.
#include "coordinator/policy/attestations.h"

#include <filesystem>

#include "coordinator/recall/recalls.h"
#include "manifest/artifact/bundle_limit.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/toolchain_admission.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "signing/log/leaf.h"
#include "storage/index/artifacts/verdict_repository.h"
#include "storage/index/log/log_repository.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;

constexpr char kSpdx[] = "https://spdx.dev/Document/v2.3";

// Takes signatures in as LoggedSigner does, and waits for no checkpoint.
class DirectIntake final : public LogIntake {
 public:
  DirectIntake(postgres::Pool& database, const Clock& clock) : database_(database), clock_(clock) {}
  Result<std::string> takeIn(const std::string& instance, const signing::Envelope& envelope,
                             const signing::PublicKey& key) override {
    KILN_TRY(takeSignatureIn(database_, instance, envelope, key, clock_.now()));
    KILN_ASSIGN(auto connection, database_.acquire());
    const Digest digest{signing::logDigest(signing::kInTotoPayload, envelope.payload), 0};
    KILN_ASSIGN(const auto row, index::findSignature(*connection, digest));
    KILN_ASSIGN(const signing::Leaf leaf, signing::Leaf::parse(row->leaf));
    return signing::makeBundle({signing::kInTotoPayload, envelope.payload, {leaf.signature}}, key);
  }

 private:
  postgres::Pool& database_;
  const Clock& clock_;
};

class Attestations : public FarmTest {
 protected:
  Attestations() {
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
    root_ = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
    root_.recallKeys = signing::RecallKeys{{1, {recallKey_.publicKey()}}, 1, 10};
    trustAuthor(author_, "urn:legal");
    auto one = worker("w1");
    v1::Job job = submitted(request("k"));
    settle(job.id(), {one.get()});
    digest_ = get(job.id()).artifacts(0).digest();
  }

  void trustAuthor(const signing::PrivateKey& key, const std::string& id) {
    root_.keys.push_back({key.publicKey(), root_.keys[0].validFrom, root_.keys[0].validUntil});
    root_.builders.push_back({id, {key.publicKey().id()}});
    std::filesystem::remove(trustRoot_);
    EXPECT_TRUE(signing::writeTextFile(trustRoot_, root_.toJson().dump()));
  }
  std::string bundle(const signing::PrivateKey& key, Json predicate = Json::object(),
                     const std::string& type = kSpdx, const std::string& about = "") {
    const Digest artifact = *Digest::parse(about.empty() ? digest_ : about, 0);
    const Statement statement{{{"artifact.json", artifact.hash}}, type, std::move(predicate)};
    const std::string text = toCanonicalJson(statement.toJson()).value();
    return signing::makeBundle(signing::signEnvelope(signing::kInTotoPayload, text, key).value(),
                               key.publicKey())
        .value();
  }
  Result<index::BundleRecord> add(const std::string& text, const index::AttestationLimits& limits = {}) {
    return addAttestation(farm_.judging, InstancePolicies(trustRoot_, {}), log_, {"default", digest_, text},
                          {quota_, limits});
  }
  void expectRefused(const std::string& text, Code code, const std::string& part) {
    const auto kept = add(text);
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().code, code) << kept.error().message;
    EXPECT_NE(kept.error().message.find(part), std::string::npos) << kept.error().message;
  }
  int bundles() { return artifact(digest_).bundles_size(); }

  quota::Quota quota_;
  const std::string trustRoot_ = directory_ / "root.json";
  const signing::PrivateKey author_ = signing::PrivateKey::create().value();
  const signing::PrivateKey recallKey_ = signing::PrivateKey::create().value();
  signing::TrustRoot root_;
  DirectIntake log_{pool_, clock_};
  std::string digest_;
};

TEST_F(Attestations, AKnownAuthorsStatementIsKeptOnceAndLogged) {
  const int before = bundles();
  const std::string text = bundle(author_);
  const auto kept = add(text);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(bundles(), before + 1);
  const auto again = add(bundle(author_));  // the same statement, another random signature
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->bundle, kept->bundle);
  EXPECT_EQ(bundles(), before + 1);
  auto connection = pool_.acquire().value();
  const auto row = index::findSignatureOfPayload(*connection, kept->payload).value();
  ASSERT_TRUE(row);
  EXPECT_EQ(signing::Leaf::parse(row->leaf)->spki, author_.publicKey().der());
  const auto stored = storage::getBlob(*blobs_, "default", kept->bundle, 1 << 20).value();
  EXPECT_EQ(signing::parseBundle(stored)->keyId, author_.publicKey().id());
}

TEST_F(Attestations, WhoMayNotSpeakIsRefusedByName) {
  const signing::PrivateKey stranger = signing::PrivateKey::create().value();
  expectRefused(bundle(stranger), Code::kPermissionDenied, stranger.publicKey().id());
  expectRefused(bundle(key_), Code::kPermissionDenied, "own key");
  const auto earlier = signing::PrivateKey::create().value();  // what it signed may be another instance's
  root_.builders[0].keys.push_back(earlier.publicKey().id());
  trustAuthor(earlier, "urn:earlier");
  expectRefused(bundle(earlier), Code::kPermissionDenied, "own key");
  // The payload under a trusted hint, signed by another.
  Json forged = Json::parse(bundle(author_));
  forged["dsseEnvelope"]["signatures"] = Json::parse(bundle(stranger)).at("dsseEnvelope").at("signatures");
  EXPECT_EQ(add(forged.dump()).error().code, Code::kDataLoss);
  const signing::Recall recall{
      signing::RecallKind::kKey, author_.publicKey().id(), "it leaked", clock_.now(), {}, {}, {}, {}, true};
  const auto text = signing::Recalls::issue(nullptr, recall, std::array{recallKey_}, clock_.now(),
                                            clock_.now() + std::chrono::days(7), "")
                        .value();
  ASSERT_TRUE(putInForce({trustRoot_, nullptr}, text));
  expectRefused(bundle(author_), Code::kPermissionDenied, "it leaked");
}

TEST_F(Attestations, OnlyWellFormedStatementsOfOthersAboutThisArtifact) {
  const int before = bundles();
  expectRefused("{}", Code::kInvalidArgument, "");
  expectRefused(std::string(kMaxAttestationBytes + 1, 'x'), Code::kInvalidArgument, "bytes are taken");
  expectRefused(bundle(author_, Json::object(), kSpdx, digestOf(std::string_view("another")).text()),
                Code::kDataLoss, "another artifact");
  for (const char* type : {kProvenanceType, kCompileType, kTombstoneType, kToolchainType})
    expectRefused(bundle(author_, Json::object(), type), Code::kInvalidArgument, "for the farm");
  digest_ = digestOf(std::string_view("nothing")).text();
  expectRefused(bundle(author_), Code::kNotFound, "no artifact");
  const auto rootless =
      addAttestation(farm_.judging, InstancePolicies(), log_, {"default", digest_, bundle(author_)});
  EXPECT_EQ(rootless.error().code, Code::kFailedPrecondition);
  digest_ = "sha256:" + artifact(get(submitted(request("k")).id()).artifacts(0).digest()).manifest().hash();
  EXPECT_EQ(bundles(), before);
}

TEST_F(Attestations, AnotherAuthorOfTheSameStatementComesTooLate) {
  const signing::PrivateKey other = signing::PrivateKey::create().value();
  trustAuthor(other, "urn:other");
  ASSERT_TRUE(log_.takeIn("default", signing::parseBundle(bundle(other))->envelope, other.publicKey()));
  expectRefused(bundle(author_), Code::kAlreadyExists, "another key");
}

TEST_F(Attestations, TheirNumberIsBounded) {
  const index::AttestationLimits limits{2, 3};
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(add(bundle(author_, {{"n", i}}), limits));
  EXPECT_EQ(add(bundle(author_, {{"n", 2}}), limits).error().code, Code::kResourceExhausted);
  EXPECT_TRUE(add(bundle(author_, {{"n", 1}}), limits)) << "it is there";
  EXPECT_EQ(add(bundle(author_, {{"n", 2}}), {9, 2}).error().code, Code::kResourceExhausted);
  EXPECT_TRUE(add(bundle(author_, {{"n", 2}}), {9, 3}));
  EXPECT_LE(index::AttestationLimits{}.perArtifact * 4, static_cast<std::int64_t>(kMaxBundles))
      << "the farm's own statements have room beside them";
  const std::string another = bundle(author_, {{"n", 3}});
  const auto kept = static_cast<std::int64_t>(another.size());  // each is as long, and longer once logged
  EXPECT_EQ(add(another, {9, 9, 3 * kept}).error().code, Code::kResourceExhausted);
  EXPECT_TRUE(add(another, {9, 9, 99 * kept}));
  EXPECT_LE(index::AttestationLimits{}.bytesPerArtifact * 2, static_cast<std::int64_t>(kMaxBundlesBytes));
}

TEST_F(Attestations, AreEntriesOfTheInstancesLog) {
  const std::string first = bundle(author_, {{"n", 0}});
  ASSERT_TRUE(add(first));
  quota_.logEntriesPerDay = 1;  // less than the farm has signed
  const auto refused = add(bundle(author_, {{"n", 1}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_NE(refused.error().details.find("retryAfterSeconds"), std::string::npos);
  EXPECT_TRUE(add(first)) << "it is there";
}

TEST_F(Attestations, APolicyThatWantsOneJudgesAgain) {
  signing::Policy policy{
      .name = "p", .allowDevelopment = true, .builderIds = {"*"}, .targets = {"*"}, .toolchains = {"*"}};
  policy.statements = {{kSpdx, {"urn:legal"}}};
  const InstancePolicies policies(trustRoot_, {{"default", policy}});
  const Digest artifact = *Digest::parse(digest_, 0);
  EXPECT_FALSE(policies.judge(farm_.judging, "default", artifact, clock_.now()).value()->passed);
  {
    auto connection = pool_.acquire().value();
    ASSERT_TRUE(index::setBasis(*connection, "default", Digest{digestOf(std::string_view("b")).hash, 0},
                                clock_.now()));
    ASSERT_TRUE(connection->execute("DELETE FROM verdicts_due"));
  }
  ASSERT_TRUE(add(bundle(author_)));
  auto connection = pool_.acquire().value();
  EXPECT_EQ(index::listDue(*connection, 0, 9)->size(), 1u);
  EXPECT_TRUE(policies.judge(farm_.judging, "default", artifact, clock_.now()).value()->passed);
}

}  // namespace
}  // namespace kiln::service
