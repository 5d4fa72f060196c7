// Hits carry their proof: what the index or the store says about an earlier build is believed for what is
// signed, and for nothing else.
#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "coordinator/recall/recalls.h"
#include "manifest/artifact/oci.h"
#include "manifest/base/durable_file.h"
#include "manifest/statement/provenance.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "signing/trust/trust_root.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;

class Proof : public FarmTest {
 protected:
  Proof() {
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
    one = worker("w1");
    first = submitted(request("first"));
    settle(first.id(), {one.get()});
    first = get(first.id());
    EXPECT_EQ(first.state(), v1::JOB_SUCCEEDED) << first.error().message();
  }

  std::string digest() { return first.artifacts(0).digest(); }
  Digest bundle() { return *fromProto(artifact(digest()).bundles(0)); }
  std::string textOf(const Digest& blob) {
    return storage::getBlob(*blobs_, "default", blob, 1 << 20).value();
  }
  std::string fileOf(const Digest& blob) {
    return directory_ / ("store/blobs/" + blob.hex().substr(0, 2) + "/" + blob.hex());
  }
  // No further job may be answered from the results alone.
  void forgetResults() { ASSERT_TRUE(pool_.execute("DELETE FROM action_results")); }
  // The submission again under another key.
  v1::Job again(const std::string& key, int builders = 1) { return submitted(request(key, builders)); }
  void replaceBundle(const std::string& text) {
    Digest other = put(text);
    ASSERT_TRUE(pool_.execute(
        "UPDATE statements SET bundle_hash = $1, bundle_size = $2 WHERE predicate_type LIKE '%provenance%'",
        {Bytes(other.hash), other.size}));
  }

  OciManifest manifest() {
    return parseOciManifest(textOf(*fromProto(artifact(digest()).manifest()))).value();
  }
  // Changes a byte of the blob in the store, and says which file that is.
  std::string damage(const Digest& blob) {
    const std::string file = fileOf(blob);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    std::fstream(file, std::ios::in | std::ios::out).write("X", 1);
    return file;
  }
  // Of the program.
  std::string damage() { return damage(manifest().layers.at(0).digest); }

  std::unique_ptr<testing_support::FakeWorker> one;
  v1::Job first;
};

TEST_F(Proof, AHitReturnsTheOriginalsProvenance) {
  forgetResults();
  v1::Job hit = again("hit");
  EXPECT_EQ(hit.state(), v1::JOB_SUCCEEDED);
  EXPECT_TRUE(hit.artifacts(0).cached());
  EXPECT_EQ(hit.artifacts(0).digest(), digest());
  EXPECT_EQ(hit.artifacts(0).builders(0), "w1");
  ASSERT_EQ(artifact(digest()).bundles_size(), 3) << "nothing is signed anew";
  auto said = signing::parseBundle(textOf(bundle())).value();
  auto provenance = Provenance::fromJson(parseStatement(said.envelope.payload).value().predicate).value();
  EXPECT_EQ(provenance.invocationId, first.id());
}

// With a root that lets one key recall as much as it likes.
class RecalledProof : public Proof {
 protected:
  RecalledProof() {
    signing::TrustRoot root = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
    root.recallKeys = signing::RecallKeys{{1, {recallKey.publicKey()}}, 1, 10};
    EXPECT_TRUE(signing::writeTextFile(trustRoot, root.toJson().dump()));
  }
  std::string next(signing::RecallKind kind, const std::string& what) {
    const bool lift = kind == signing::RecallKind::kLift;
    const signing::Recall recall{kind, what, "bad", clock_.now(), {}, {}, {}, {}, !lift};
    return signing::Recalls::issue(current ? &*current : nullptr, recall, std::array{recallKey}, clock_.now(),
                                   clock_.now() + std::chrono::days(7), "")
        .value();
  }
  void recall(signing::RecallKind kind, const std::string& what) {
    auto published = putInForce({trustRoot}, next(kind, what));
    ASSERT_TRUE(published) << published.error().message;
    current = std::move(*published);
  }

  const std::string trustRoot = directory_ / "recall-root.json";
  const signing::PrivateKey recallKey = signing::PrivateKey::create().value();
  std::optional<signing::Recalls> current;
};

TEST_F(RecalledProof, EvidenceThatWasRecalledMakesNoHit) {
  auto spare = worker("w2", "other");
  recall(signing::RecallKind::kWorker, "w1");
  EXPECT_NE(again("recalled").state(), v1::JOB_SUCCEEDED) << "neither the artifact nor the worker's result";
  recall(signing::RecallKind::kLift, current->entries[0].id().text());
  const v1::Job lifted = again("lifted");
  EXPECT_EQ(lifted.state(), v1::JOB_SUCCEEDED);
  EXPECT_TRUE(lifted.artifacts(0).cached());
}

TEST_F(RecalledProof, ContentThatWasRecalledMakesNoHit) {
  forgetResults();
  recall(signing::RecallKind::kArtifact, digest());
  EXPECT_NE(again("recalled").state(), v1::JOB_SUCCEEDED);
  EXPECT_EQ(recallsInForce(farm_.recalls).value()->text, current->text);
}

// What is in force is not forgotten because it cannot be read, nor because the root got one key more; only
// where its signatures do not count any more.
TEST_F(RecalledProof, NothingInForceIsDropped) {
  recall(signing::RecallKind::kArtifact, digest());
  signing::Recalls forgetful;
  forgetful.version = 1;
  const auto dropping = [&](const signing::PrivateKey& by) -> std::optional<Code> {
    const auto text = signing::Recalls::issue(&forgetful, std::nullopt, std::array{by}, clock_.now(),
                                              clock_.now() + std::chrono::days(7), "");
    const auto published = putInForce({trustRoot}, text.value());
    return published ? std::nullopt : std::optional(published.error().code);
  };
  const auto letRecall = [&](std::vector<signing::PublicKey> keys) {
    signing::TrustRoot root = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
    root.recallKeys = signing::RecallKeys{{1, std::move(keys)}, 1, 10};
    ASSERT_TRUE(replaceFile(trustRoot, root.toJson().dump()));
  };
  EXPECT_EQ(dropping(recallKey), Code::kDataLoss);
  const auto other = signing::PrivateKey::create().value();
  letRecall({recallKey.publicKey(), other.publicKey()});
  EXPECT_EQ(dropping(other), Code::kDataLoss) << "the old key still counts";
  letRecall({other.publicKey()});
  EXPECT_EQ(dropping(other), std::nullopt) << "version 2";
  ASSERT_TRUE(pool_.execute(
      "INSERT INTO recalls SELECT 3, 'damaged', root, published FROM recalls WHERE version = 2"));
  forgetful.version = 3;
  EXPECT_EQ(dropping(other), Code::kDataLoss) << "nobody can tell what it leaves out";
}

TEST_F(RecalledProof, RecalledContentIsNotPublishedFromAnEarlierResult) {
  recall(signing::RecallKind::kArtifact, digest());
  v1::Job job = again("recalled");
  settle(job.id(), {one.get()});
  job = get(job.id());
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().exit_code(), 5);
  EXPECT_THAT(job.error().message(), ::testing::HasSubstr("bad (artifact " + digest()));
}

TEST_F(RecalledProof, ARecalledToolchainIsRefusedAtTheSubmission) {
  recall(signing::RecallKind::kToolchain, putToolchain().text());
  v1::Job job;
  const grpc::Status refused = submit(request("recalled"), &job);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), ::testing::HasSubstr("bad (toolchain sha256:"));
}

TEST_F(RecalledProof, OnlyNewerRecallsUnderTheFarmsRootComeIntoForce) {
  const auto refused = [&](const std::string& root, const std::string& document) {
    auto published = putInForce({root}, document);
    return published ? Code::kUnknown : published.error().code;
  };
  const std::string first = next(signing::RecallKind::kWorker, "w9");
  EXPECT_EQ(refused("", first), Code::kFailedPrecondition);
  EXPECT_EQ(refused(trustRoot, "{}"), Code::kInvalidArgument);
  recall(signing::RecallKind::kWorker, "w9");
  EXPECT_EQ(refused(trustRoot, first), Code::kAlreadyExists) << "another of the same version";
  EXPECT_TRUE(putInForce({trustRoot}, current->text)) << "the same again";
  signing::Recalls emptied = *current;
  emptied.entries.clear();
  const auto forgetful = signing::Recalls::issue(&emptied, std::nullopt, std::array{recallKey}, clock_.now(),
                                                 clock_.now() + std::chrono::days(1), "")
                             .value();
  EXPECT_EQ(refused(trustRoot, forgetful), Code::kDataLoss) << "leaves out what was recalled";
}

TEST_F(Proof, ABundleThatIsNotAsSignedIsNoHit) {
  forgetResults();
  std::string text = textOf(bundle());
  auto at = text.find("payload\":\"") + 40;
  text[at] = text[at] == 'A' ? 'B' : 'A';
  replaceBundle(text);
  EXPECT_NE(again("hit").state(), v1::JOB_SUCCEEDED);
}

TEST_F(Proof, ABundleOfAnotherKeyIsNoHit) {
  forgetResults();
  auto said = signing::parseBundle(textOf(bundle())).value();
  auto foreign = signing::PrivateKey::create().value();
  auto envelope = signing::signEnvelope(said.envelope.payloadType, said.envelope.payload, foreign).value();
  replaceBundle(signing::makeBundle(envelope, foreign.publicKey()).value());
  EXPECT_NE(again("hit").state(), v1::JOB_SUCCEEDED);
}

TEST_F(Proof, BuildersThatOnlyARowNamesDoNotCount) {
  auto two = worker("w2");
  ASSERT_TRUE(pool_.execute(
      "INSERT INTO builders SELECT instance, payload_hash, artifact_hash, 'w2', 'op' FROM builders"));
  v1::Job job = again("two", 2);
  EXPECT_NE(job.state(), v1::JOB_SUCCEEDED);
  settle(job.id(), {two.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(job.artifacts(0).builders_size(), 2) << "the missing one ran, the first one's receipt counts";
}

// A hit is verified once; what is cached of it says nothing about other bytes, bundles or recalls.
TEST_F(Proof, WhatHeldBeforeIsLookedAtAgain) {
  forgetResults();
  EXPECT_EQ(again("hit").state(), v1::JOB_SUCCEEDED);
  EXPECT_EQ(again("another").state(), v1::JOB_SUCCEEDED);
  damage();
  EXPECT_NE(again("damaged").state(), v1::JOB_SUCCEEDED);
}

TEST_F(Proof, EveryBlobOfWhatHeldBeforeIsLookedAtAgain) {
  forgetResults();
  std::vector<Digest> blobs{*fromProto(artifact(digest()).manifest()), manifest().config};
  for (const ArtifactFile& layer : manifest().layers) blobs.push_back(layer.digest);
  const v1::Artifact published = artifact(digest());
  for (const auto& record : published.bundles()) blobs.push_back(*fromProto(record));
  EXPECT_GE(blobs.size(), 5u);
  int tries = 0;
  for (const Digest& blob : blobs) {
    const std::string key = std::to_string(++tries), bytes = textOf(blob);
    EXPECT_EQ(again("hit-" + key).state(), v1::JOB_SUCCEEDED);
    damage(blob);
    EXPECT_NE(again("damaged-" + key).state(), v1::JOB_SUCCEEDED) << "blob " << key;
    put(bytes);
  }
  EXPECT_EQ(again("repaired").state(), v1::JOB_SUCCEEDED);
}

TEST_F(Proof, AnotherBundleIsVerifiedThoughTheArtifactHeldBefore) {
  forgetResults();
  EXPECT_EQ(again("hit").state(), v1::JOB_SUCCEEDED);
  replaceBundle("{}");
  EXPECT_NE(again("forged").state(), v1::JOB_SUCCEEDED);
}

TEST_F(RecalledProof, WhatHeldBeforeTheRecallIsNoHitAfterIt) {
  auto spare = worker("w2", "other");
  forgetResults();
  EXPECT_EQ(again("hit").state(), v1::JOB_SUCCEEDED);
  recall(signing::RecallKind::kWorker, "w1");
  EXPECT_NE(again("recalled").state(), v1::JOB_SUCCEEDED);
}

TEST_F(Proof, DamagedOrMissingBytesAreNoHit) {
  forgetResults();
  const std::string program = damage();
  EXPECT_NE(again("damaged").state(), v1::JOB_SUCCEEDED);
  std::filesystem::remove(program);
  EXPECT_NE(again("missing").state(), v1::JOB_SUCCEEDED);
}

// With the artifact's row gone, only results can answer.
TEST_F(Proof, AResultIsTakenForWhatItsReceiptSays) {
  ASSERT_TRUE(pool_.execute("DELETE FROM artifact_actions"));
  v1::Job reused = again("reused");
  ASSERT_TRUE(advance(reused.id()));
  EXPECT_EQ(get(reused.id()).state(), v1::JOB_SUCCEEDED) << "nothing had to run";

  ASSERT_TRUE(pool_.execute("DELETE FROM artifact_actions"));
  ASSERT_TRUE(pool_.execute("UPDATE action_results SET worker = 'w9'"));
  v1::Job fresh = again("renamed");
  ASSERT_TRUE(advance(fresh.id()));
  EXPECT_NE(get(fresh.id()).state(), v1::JOB_SUCCEEDED);
  ASSERT_TRUE(pool_.execute("UPDATE action_results SET worker = 'w1'"));
  ASSERT_TRUE(pool_.execute(
      "UPDATE action_results SET receipt = replace(receipt, 'payload\":\"e', 'payload\":\"f')"));
  v1::Job other = again("forged");
  ASSERT_TRUE(advance(other.id()));
  EXPECT_NE(get(other.id()).state(), v1::JOB_SUCCEEDED);
  // The job before it has the same action: where that one's run goes first, this one waits to look at its
  // result, before which w1's earlier one stands.
  settle(other.id(), {one.get()});
  clock_.advance(std::chrono::seconds(5));
  settle(other.id(), {one.get()});
  EXPECT_EQ(get(other.id()).artifacts(0).digest(), digest()) << "built again, to the same bytes";
}

}  // namespace
}  // namespace kiln::service
