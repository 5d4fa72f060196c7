// A job that has the farm keep the IR of its artifact.
#include "coordinator/web/published_blobs.h"
#include "manifest/artifact/oci.h"
#include "manifest/statement/ir_statement.h"
#include "signing/bundle/bundle.h"
#include "storage/index/artifacts/ir_repository.h"
#include "storage/index/jobs/job_repository.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::ToolOutcome;

class KeptIr : public FarmTest {
 protected:
  KeptIr() { EXPECT_TRUE(addToolchain(putToolchain()).ok()); }

  v1::SubmitJobRequest withIr(const std::string& key, bool noCache = false) {
    v1::SubmitJobRequest out = request(key);
    DeliverySpec delivery;
    delivery.keepIr = true;
    delivery.noCache = noCache;
    out.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    return out;
  }
  v1::Job built(const v1::SubmitJobRequest& wanted) {
    const v1::Job job = submitted(wanted);
    settle(job.id(), {one_.get()});
    return get(job.id());
  }
  std::vector<IrStatement> statementsOf(const std::string& artifactDigest) {
    std::vector<IrStatement> out;
    const auto shown = artifact(artifactDigest);
    for (const auto& bundle : shown.bundles()) {
      const auto text = storage::getBlob(*blobs_, "default", *fromProto(bundle), 1 << 20).value();
      const auto parsed = signing::parseBundle(text).value();
      const auto statement = parseStatement(parsed.envelope.payload).value();
      if (statement.predicateType != kIrType) continue;
      EXPECT_TRUE(signing::verifyEnvelope(parsed.envelope, std::array{key_.publicKey()}));
      out.push_back(IrStatement::fromJson(statement.predicate).value());
    }
    return out;
  }
  // What it leaves in the place of its IR, or beside it.
  void tamperIr(std::function<void(std::map<std::string, std::string>&)> change) {
    one_->tamper = [change](const v1::Lease& lease, ToolOutcome& outcome) {
      if (lease.kind() == v1::ACTION_IR) change(outcome.files);
    };
  }
  std::size_t runsOf(const v1::Job& job) {
    return index::loadJob(*pool_.acquire().value(), {"default", job.id()}, index::Evidence::kWithout)
        .value()
        ->runs.size();
  }

  std::unique_ptr<testing_support::FakeWorker> one_ = worker("w1");
};

TEST_F(KeptIr, ComesWithAStatementAndIsServedAsAReferrer) {
  const v1::Job job = built(withIr("k1"));
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  const std::string digest = job.artifacts(0).digest();
  const auto statements = statementsOf(digest);
  ASSERT_EQ(statements.size(), 1u);
  const IrStatement& said = statements[0];
  EXPECT_EQ(said.worker, "w1");
  EXPECT_EQ(said.invocationId, job.id());
  EXPECT_EQ(said.builderId, kBuilderId);
  EXPECT_EQ(toProto(said.toolchain).hash(), job.toolchain_digest().hash());
  ASSERT_EQ(said.files.size(), 2u);
  EXPECT_EQ(said.files[0].path, "01-capture.mlir");
  EXPECT_EQ(storage::getBlob(*blobs_, "default", said.files[0].digest, 100).value(), "module {}");

  server::PublishedBlobs published(pool_);
  const Digest manifest = *fromProto(artifact(digest).manifest());
  const auto referrers = published.findReferrers("default", {manifest.hash, 0});
  ASSERT_TRUE(referrers) << referrers.error().message;
  ASSERT_EQ(referrers->others.size(), 1u);
  EXPECT_EQ(referrers->others[0].artifactType, kIrArtifactType);
  EXPECT_EQ(digestOf(makeReferrer(referrers->others[0]).value()), said.ir);
  const auto one = published.findReferrer("default", {said.ir.hash, 0});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_TRUE(one->bundles.empty());
  EXPECT_EQ(makeReferrer(one->others.at(0)).value(), makeReferrer(referrers->others[0]).value());
  EXPECT_EQ(published.findBlob("default", {said.files[1].digest.hash, 0}).value(), said.files[1].digest);
}

TEST_F(KeptIr, OfACachedArtifactIsMadeWithoutACompile) {
  const v1::Job first = built(request("k1"));
  ASSERT_EQ(first.state(), v1::JOB_SUCCEEDED) << first.error().message();
  EXPECT_TRUE(statementsOf(first.artifacts(0).digest()).empty());
  const v1::Job second = built(withIr("k2"));
  ASSERT_EQ(second.state(), v1::JOB_SUCCEEDED) << second.error().message();
  EXPECT_TRUE(second.artifacts(0).cached());
  EXPECT_EQ(second.artifacts(0).digest(), first.artifacts(0).digest());
  EXPECT_EQ(runsOf(second), 1u) << "the IR alone";
  EXPECT_EQ(statementsOf(first.artifacts(0).digest()).size(), 1u);

  const v1::Job third = built(withIr("k3"));
  ASSERT_EQ(third.state(), v1::JOB_SUCCEEDED) << third.error().message();
  EXPECT_EQ(runsOf(third), 0u) << "it is there";
  EXPECT_EQ(statementsOf(first.artifacts(0).digest()).size(), 1u);
}

TEST_F(KeptIr, MadeAgainIsTheSame) {
  const v1::Job first = built(withIr("k1"));
  clock_.advance(std::chrono::seconds(1));
  const v1::Job second = built(withIr("k2", true));
  ASSERT_EQ(second.state(), v1::JOB_SUCCEEDED) << second.error().message();
  const auto statements = statementsOf(first.artifacts(0).digest());
  ASSERT_EQ(statements.size(), 2u);
  EXPECT_EQ(statements[0].ir, statements[1].ir);

  clock_.advance(std::chrono::seconds(1));
  tamperIr([](auto& files) { files["ir/01-capture.mlir"] = "module { }"; });
  const v1::Job third = built(withIr("k3", true));
  ASSERT_EQ(third.state(), v1::JOB_FAILED);
  EXPECT_EQ(third.error().exit_code(), kExitNotReproducible);
  EXPECT_NE(third.error().message().find(statements[0].ir.text()), std::string::npos)
      << third.error().message();
  EXPECT_EQ(statementsOf(first.artifacts(0).digest()).size(), 2u);
}

TEST_F(KeptIr, OfAnotherArtifactIsNotKept) {
  tamperIr([](auto& files) { files["artifact/program.so"] = "another program"; });
  const v1::Job job = built(withIr("k1"));
  ASSERT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().exit_code(), kExitNotReproducible);
  EXPECT_NE(job.error().message().find("artifact/program.so"), std::string::npos) << job.error().message();
  ASSERT_FALSE(job.artifacts(0).digest().empty()) << "the artifact itself is published";
  EXPECT_TRUE(statementsOf(job.artifacts(0).digest()).empty());
}

TEST_F(KeptIr, OfManyFilesIsNotKept) {
  tamperIr([](auto& files) {
    for (std::size_t i = 0; i < kMaxIrFiles; ++i) files["ir/" + std::to_string(i)] = "x";
  });
  const v1::Job job = built(withIr("k1"));
  ASSERT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().exit_code(), kExitUnsupported);
  EXPECT_NE(job.error().message().find("kiln-cc compile --emit-ir"), std::string::npos)
      << job.error().message();
}

TEST_F(KeptIr, IsWantedOfAWorkerThatLeavesSome) {
  tamperIr([](auto& files) {
    std::erase_if(files, [](const auto& file) { return file.first.starts_with("ir/"); });
  });
  const std::string id = submitted(withIr("k1")).id();
  for (int round = 0; round < 100 && get(id).state() != v1::JOB_FAILED;
       ++round) {  // another try comes after a while
    settle(id, {one_.get()});
    clock_.advance(std::chrono::minutes(1));
  }
  const v1::Job job = get(id);
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_NE(job.error().message().find("the outputs hold no IR"), std::string::npos) << job.error().message();
}

TEST_F(KeptIr, StaysAsLongAsItsArtifact) {
  const v1::Job job = built(withIr("k1"));
  const IrStatement said = statementsOf(job.artifacts(0).digest()).at(0);
  const Digest stray = put("stray");
  clock_.advance(std::chrono::hours(8 * 24));
  ASSERT_TRUE(one_->synchronize({}));
  const auto report = garbage_.collect(Duration::zero(), false);
  ASSERT_TRUE(report) << report.error().message;
  const auto there = [&](const Digest& blob) {
    return storage::getBlob(*blobs_, "default", blob, 1 << 20).has_value();
  };
  EXPECT_FALSE(there(stray));
  for (const ModelFile& file : said.files) EXPECT_TRUE(there(file.digest)) << file.path;
  EXPECT_TRUE(there(said.receipt));
}

TEST_F(KeptIr, NeedsAWorkerThatMakesIt) {
  one_->description.clear_kinds();
  for (auto kind : {v1::ACTION_REFERENCE, v1::ACTION_COMPILE}) one_->description.add_kinds(kind);
  ASSERT_TRUE(one_->synchronize({}));
  v1::Job job;
  const grpc::Status status = submit(withIr("k1"), &job);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error_message().find("no worker does ir for cpu:x86-64-v3"), std::string::npos)
      << status.error_message();
}

}  // namespace
}  // namespace kiln::service
