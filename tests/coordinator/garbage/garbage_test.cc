// What a collection of garbage keeps and what it takes, over real jobs.
#include <array>

#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/oci.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/tombstone.h"
#include "signing/bundle/bundle.h"
#include "signing/receipt/receipt.h"
#include "signing/trust/trust_root.h"
#include "signing/verify/verify.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/tree/tree_walk.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::ToolOutcome;

class Garbage : public FarmTest {
 protected:
  Garbage() {
    toolchain = putToolchain();
    EXPECT_TRUE(addToolchain(toolchain).ok());
    one = worker("w1");
  }

  v1::Job built(const std::string& key) {
    v1::Job job = submitted(request(key));
    settle(job.id(), {one.get()});
    job = get(job.id());
    EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
    return job;
  }
  // Everything that is there is beyond the grace period from now on; workers stay known.
  void age(Duration by = std::chrono::hours(8 * 24)) {
    clock_.advance(by);
    ASSERT_TRUE(one->synchronize({}));
  }
  GarbageReport collect(bool dryRun = false) {
    auto report = garbage_.collect(Duration::zero(), dryRun);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : GarbageReport{};
  }
  bool there(const Digest& blob) { return storage::getBlob(*blobs_, "default", blob, 1 << 20).has_value(); }
  std::string text(const Digest& blob) {
    return storage::getBlob(*blobs_, "default", blob, 1 << 20).value_or("");
  }
  std::string payload(const v1::Artifact& artifact, int bundle = 0) {
    return signing::parseBundle(text(*fromProto(artifact.bundles(bundle)))).value().envelope.payload;
  }
  Provenance provenanceOf(const v1::Artifact& artifact, int bundle = 0) {
    return Provenance::fromJson(parseStatement(payload(artifact, bundle)).value().predicate).value();
  }
  signing::Receipt receiptOf(const Digest& document) {
    return signing::verifyReceiptDocument(text(document), authority_.certificate(), clock_.now())
        .value()
        .receipt;
  }
  bool treeThere(const Digest& root) {
    auto missing = storage::findMissingInTree(*blobs_, "default", root);
    return missing && missing->empty();
  }
  // The artifact, its statements, and the evidence they name.
  void expectWhole(const v1::Artifact& artifact, bool rebuildable) {
    auto oci = parseOciManifest(text(*fromProto(artifact.manifest())));
    ASSERT_TRUE(oci);
    EXPECT_TRUE(there(oci->config));
    for (const ArtifactFile& layer : oci->layers) EXPECT_TRUE(there(layer.digest)) << layer.path;
    EXPECT_TRUE(treeThere(*fromProto(artifact.fixtures())));
    Provenance provenance = provenanceOf(artifact);
    for (const Material& material : provenance.byproducts)
      EXPECT_TRUE(there(material.digest)) << material.name;
    ASSERT_TRUE(there(provenance.builders.at(0).receipt));
    auto receipt = receiptOf(provenance.builders[0].receipt);
    EXPECT_TRUE(there(receipt.sandboxPolicy));
    EXPECT_EQ(there(receipt.action), rebuildable);
    for (const Material& material : provenance.resolvedDependencies)
      if (material.name == "toolchain")
        EXPECT_TRUE(treeThere(material.digest));
      else
        EXPECT_EQ(there(material.digest), rebuildable) << material.name;
  }
  grpc::Status tombstone(const std::string& artifact, const std::string& reason, v1::Artifact* out) {
    v1::AddTombstoneRequest request;
    request.set_instance("default");
    request.set_artifact(artifact);
    request.set_reason(reason);
    clock_.advance(std::chrono::seconds(1));  // statements are listed by age
    grpc::ClientContext context;
    return v1::MaintenanceService::NewStub(channel_)->AddTombstone(&context, request, out);
  }
  signing::Verdict verdictOf(const v1::Artifact& artifact) {
    const std::string manifest = text(*fromProto(artifact.manifest()));
    signing::VerifyRequest request{.artifactJson = manifest};
    request.read = [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) {
      return blobs_->read("default", file.digest, 0, 0, sink);
    };
    for (const auto& bundle : artifact.bundles()) request.bundles.push_back(text(*fromProto(bundle)));
    signing::Policy any{
        .name = "any", .allowDevelopment = true, .builderIds = {"*"}, .targets = {"*"}, .toolchains = {"*"}};
    return signing::verifyArtifact(
        request, signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now()), any, clock_);
  }

  Digest toolchain;
  std::unique_ptr<testing_support::FakeWorker> one;
};

TEST_F(Garbage, APublishedArtifactAndItsRebuildClosureStay) {
  v1::Job job = built("k1");
  Digest stray = put("stray");
  age();
  GarbageReport report = collect();
  EXPECT_EQ(report.artifacts, 1u);
  EXPECT_TRUE(report.damaged.empty());
  EXPECT_GT(report.swept.removedBlobs, 0u);
  EXPECT_FALSE(there(stray));
  v1::Artifact published = artifact(job.artifacts(0).digest());
  expectWhole(published, true);
  EXPECT_EQ(collect().swept.removedBlobs, 0u) << "the second one finds nothing";

  // Nothing is uploaded again: the farm has what a rebuild needs.
  v1::SubmitJobRequest again = request("k2");
  DeliverySpec delivery;
  delivery.noCache = true;
  again.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
  v1::Job rebuilt = submitted(again);
  settle(rebuilt.id(), {one.get()});
  EXPECT_EQ(get(rebuilt.id()).artifacts(0).digest(), job.artifacts(0).digest());
}

TEST_F(Garbage, ADryRunTakesNothing) {
  Digest stray = put("stray");
  age();
  GarbageReport said = collect(true);
  EXPECT_TRUE(there(stray));
  EXPECT_EQ(said.swept.removedBlobs, collect().swept.removedBlobs);
  EXPECT_FALSE(there(stray));
}

TEST_F(Garbage, WhatOpenJobsNeedStaysHoweverOldItIs) {
  auto two = worker("w2");
  v1::Job waiting = submitted(request("waiting", 1, "a model that waits"));
  v1::Job half = submitted(request("half", 2, "half built"));
  for (const v1::Lease& lease : one->poll()) ASSERT_TRUE(one->synchronize({*one->run(lease)}));
  age();
  ASSERT_TRUE(two->synchronize({}));
  collect();
  clock_.advance(std::chrono::minutes(1));  // beyond the leases that were out
  ASSERT_TRUE(driver_.sweep());
  for (const v1::Job& job : {waiting, half}) {
    settle(job.id(), {one.get(), two.get()});
    EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
  }
}

TEST_F(Garbage, CandidatesThatNobodyPublishedGo) {
  v1::Job job = submitted(request("k"));
  for (const v1::Lease& lease : one->poll()) ASSERT_TRUE(one->synchronize({*one->run(lease)}));
  v1::GetJobRequest cancel;
  cancel.set_instance("default");
  cancel.set_id(job.id());
  grpc::ClientContext context;
  v1::Job cancelled;
  ASSERT_TRUE(jobStub_->CancelJob(&context, cancel, &cancelled).ok());
  ASSERT_EQ(cancelled.state(), v1::JOB_CANCELLED);
  Digest program = digestOf(std::string_view(testing_support::kSampleProgram));
  collect();
  EXPECT_TRUE(there(program)) << "within the grace period";
  age();
  collect();
  EXPECT_FALSE(there(program));
  EXPECT_FALSE(there(digestOf(std::string_view("a model"))));
  EXPECT_TRUE(treeThere(toolchain)) << "a label keeps its tree";
  put("a model");
  v1::Job fresh = submitted(request("fresh"));
  settle(fresh.id(), {one.get()});
  EXPECT_EQ(get(fresh.id()).state(), v1::JOB_SUCCEEDED) << "results whose bytes are gone are no hits";
}

TEST_F(Garbage, WhatDisagreeingBuildersLeftStaysForThirtyDays) {
  auto two = worker("w2");
  two->tamper = [](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() == v1::ACTION_COMPILE) outcome.files["extra"] = "only w2 has this";
  };
  v1::Job job = submitted(request("k", 2));
  settle(job.id(), {one.get(), two.get()});
  ASSERT_EQ(get(job.id()).error().exit_code(), 9) << get(job.id()).error().message();
  Digest extra = digestOf(std::string_view("only w2 has this"));
  age();
  collect();
  EXPECT_TRUE(there(extra));
  age(std::chrono::hours(30 * 24));
  collect();
  EXPECT_FALSE(there(extra));
}

TEST_F(Garbage, ATombstoneGivesUpWhatTheArtifactWasBuiltFrom) {
  v1::Job job = built("k1");
  v1::Artifact published;
  grpc::Status status = tombstone(job.artifacts(0).digest(), "the model's licence ended", &published);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(published.bundles_size(), 4);
  v1::Artifact again;
  ASSERT_TRUE(tombstone(job.artifacts(0).digest(), "once more", &again).ok());
  EXPECT_EQ(again.bundles_size(), 4) << "all is covered already";
  age();
  GarbageReport report = collect();
  EXPECT_EQ(report.tombstoned, 1u);
  expectWhole(published, false);
  signing::Verdict verdict = verdictOf(published);
  EXPECT_TRUE(verdict.passed) << verdict.status().error().message;
  ASSERT_EQ(verdict.tombstones.size(), 1u);
  EXPECT_EQ(verdict.tombstones[0].reason, "the model's licence ended");

  // Built again later, from what is uploaded again: that provenance keeps its own.
  put("a model");
  v1::SubmitJobRequest fresh = request("k2");
  DeliverySpec delivery;
  delivery.noCache = true;
  fresh.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
  v1::Job rebuilt = submitted(fresh);
  settle(rebuilt.id(), {one.get()});
  ASSERT_EQ(get(rebuilt.id()).state(), v1::JOB_SUCCEEDED) << get(rebuilt.id()).error().message();
  age();
  collect();
  EXPECT_TRUE(there(digestOf(std::string_view("a model"))));
}

TEST_F(Garbage, ATombstoneThatIsNotOursGivesUpNothing) {
  v1::Job job = built("k1");
  v1::Artifact published = artifact(job.artifacts(0).digest());
  Digest digest = *fromProto(published.manifest());
  Tombstone tombstone{.builderId = kBuilderId,
                      .reason = "forged",
                      .issuedOn = clock_.now(),
                      .statements = {Digest{digestOf(payload(published)).hash, 0}}};
  std::string statement = tombstoneStatement(digest, tombstone).value();
  auto foreign = signing::PrivateKey::create().value();
  auto envelope = signing::signEnvelope("application/vnd.in-toto+json", statement, foreign).value();
  std::string bundle = signing::makeBundle(envelope, foreign.publicKey()).value();
  index::BundleRecord row{digestOf(statement), put(bundle), kTombstoneType, "", clock_.now()};
  ASSERT_TRUE(pool_.transact(
      [&](postgres::Connection& c) { return index::insertStatement(c, "default", digest, row); }));
  age();
  EXPECT_EQ(collect().tombstoned, 0u);
  expectWhole(published, true);
}

TEST_F(Garbage, WithoutTheSignersKeyNoTombstoneCounts) {
  v1::Job job = built("k1");
  v1::Artifact published;
  ASSERT_TRUE(tombstone(job.artifacts(0).digest(), "r", &published).ok());
  age();
  signer_.away = true;
  EXPECT_EQ(collect().tombstoned, 0u);
  expectWhole(published, true);
}

TEST_F(Garbage, TombstonesAreForPublishedArtifactsAndHaveAReason) {
  v1::Job job = built("k1");
  v1::Artifact out;
  EXPECT_EQ(tombstone(job.artifacts(0).digest(), "", &out).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(tombstone("sha256:" + std::string(64, 'a'), "r", &out).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(Garbage, DamageOnTheWayIsSaidAndTheRestIsKept) {
  v1::Job job = built("k1");
  v1::Artifact published = artifact(job.artifacts(0).digest());
  Provenance provenance = provenanceOf(published);
  age();
  std::filesystem::remove(directory_ / ("store/refs/i-default/" + provenance.builders.at(0).receipt.hex()));
  GarbageReport report = collect();
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_NE(report.damaged[0].find(provenance.builders[0].receipt.text()), std::string::npos);
  EXPECT_TRUE(there(provenance.resolvedDependencies.at(1).digest));
}

TEST_F(Garbage, OneAtATimeAndNotBelowWhatIsPromised) {
  auto other = postgres::Connection::open(pool_.options()).value();
  ASSERT_TRUE(other.execute("SELECT pg_advisory_lock(118100534912867::bigint)"));
  EXPECT_EQ(garbage_.collect(Duration::zero(), false).error().code, Code::kAborted);
  ASSERT_TRUE(other.execute("SELECT pg_advisory_unlock(118100534912867::bigint)"));
  collect();
  v1::CollectGarbageRequest request;
  request.mutable_grace()->set_seconds(60);
  v1::CollectGarbageResponse response;
  grpc::ClientContext context;
  auto stub = v1::MaintenanceService::NewStub(channel_);
  EXPECT_EQ(stub->CollectGarbage(&context, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace kiln::service
