#include "coordinator/drivers/publisher.h"

#include <algorithm>
#include <array>

#include "coordinator/drivers/image_maker.h"
#include "coordinator/drivers/sandbox_rule.h"
#include "coordinator/farm/blob_io.h"
#include "coordinator/farm/log.h"
#include "coordinator/jobs/submission.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/signatures/statement_reader.h"
#include "manifest/statement/compile_summary.h"
#include "signing/receipt/receipt.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/index/jobs/result_repository.h"
#include "storage/index/toolchains/toolchain_repository.h"
#include "storage/tree/tree_builder.h"

namespace kiln::service {
namespace {

using postgres::Connection;

Result<std::string> readDocument(storage::BlobStore& blobs, const std::string& instance,
                                 const jobs::Outputs& outputs, const char* name) {
  const jobs::OutputFile* file = outputs.find(name);
  if (!file) return fail(Code::kDataLoss, std::string(name) + " is not among the outputs");
  auto text = storage::getBlob(blobs, instance, file->digest, jobs::kMaxDocument);
  if (!text) return fail(text.error().in(name));
  return std::move(*text);
}

// The sandboxes that are not Kiln's, of those that agreed and of who made the fixtures.
Result<std::map<Digest, std::string>> foreignSandboxes(const Stores& stores, const std::string& instance,
                                                       const jobs::Publish& step) {
  std::vector<const index::ResultRecord*> results{&step.reference};
  for (const index::ResultRecord& result : step.evidence) results.push_back(&result);
  std::set<Digest> policies;
  for (const index::ResultRecord* result : results) {
    KILN_ASSIGN(const signing::Receipt receipt, signing::readReceipt(result->receipt));
    policies.insert(receipt.sandboxPolicy);
  }
  std::map<Digest, std::string> foreign;
  for (const Digest& policy : policies) {
    KILN_ASSIGN(std::string name, foreignSandboxOf(stores.blobs, instance, policy));
    if (!name.empty()) foreign.emplace(policy, std::move(name));
  }
  return foreign;
}

Result<jobs::Publication> assemble(const Stores& stores, const jobs::BuilderIdentity& builder,
                                   const index::JobSnapshot& snapshot, const jobs::Publish& step) {
  const index::JobRecord& job = snapshot.job;
  KILN_ASSIGN(CompileSpec submitted, jobs::readSpec(job.spec));
  KILN_ASSIGN(CompileSpec spec,
              jobs::compileSpec(submitted, snapshot.sources, job.toolchainDigest,
                                snapshot.targets.at(static_cast<std::size_t>(step.target))));
  KILN_ASSIGN(auto connection, stores.database.acquire());
  KILN_ASSIGN(auto toolchain, index::findToolchain(*connection, job.key.instance, job.toolchainLabel));
  KILN_ASSIGN(jobs::Outputs outputs, jobs::readOutputs(step.evidence.front()));
  KILN_ASSIGN(std::string evidence,
              readDocument(stores.blobs, job.key.instance, outputs, jobs::kEvidenceFile));
  KILN_ASSIGN(std::string manifest,
              readDocument(stores.blobs, job.key.instance, outputs, jobs::kManifestFile));
  KILN_ASSIGN(auto foreign, foreignSandboxes(stores, job.key.instance, step));
  return jobs::makePublication({.job = snapshot,
                                .toolchain = toolchain,
                                .target = step.target,
                                .action = step.action,
                                .spec = spec,
                                .evidence = step.evidence,
                                .dissent = step.dissent,
                                .reference = step.reference,
                                .evidenceText = evidence,
                                .manifestText = manifest,
                                .builder = builder,
                                .now = stores.clock.now(),
                                .foreignSandboxes = std::move(foreign)});
}

// The fixtures as a tree that clients can download.
Result<storage::BuiltTree> fixturesTree(const jobs::Publish& step) {
  KILN_ASSIGN(jobs::Outputs outputs, jobs::readOutputs(step.reference));
  storage::TreeBuilder builder;
  for (const jobs::OutputFile& file : outputs.files) KILN_TRY(builder.addFile(file.path, file.digest, false));
  return builder.build();
}

// What verifiers would not count is not published, nor does its job end well.
Status checkEvidence(const Judging& judging, const index::JobSnapshot& snapshot, const jobs::Publish& step,
                     const jobs::Publication& publication) {
  KILN_ASSIGN(const DeliverySpec delivery, jobs::readDelivery(snapshot.job.delivery));
  KILN_ASSIGN(const std::string pem, judging.signatory.signer.publicKeyPem());
  KILN_ASSIGN(const signing::PublicKey key, signing::PublicKey::fromPem(pem));
  NewStatement statement{{digestOf(publication.statement), {}, nullptr}, {}, key.id()};
  for (const index::ResultRecord& result : step.evidence) {
    KILN_ASSIGN(Maker maker, makerOf(result));
    statement.makers.push_back(std::move(maker));
    statement.place.madeAt = std::max(statement.place.madeAt.value_or(result.recorded), result.recorded);
  }
  for (const index::MaterialRecord& material : publication.record.materials)
    if (!material.uri.empty()) statement.sources.push_back(material.uri);
  return checkCounts(judging.recalls, statement,
                     std::min(static_cast<std::size_t>(delivery.builders), step.evidence.size()));
}

bool builtHere(const index::JobSnapshot& snapshot, const jobs::Publish& step) {
  for (const index::ResultRecord& result : step.evidence)
    if (result.jobId == snapshot.job.key.id) return true;
  return false;
}

// The artifact is published whatever became of the job meanwhile: its statement is signed. An open job gets
// it.
Status commit(Connection& connection, const index::JobSnapshot& snapshot, const jobs::Publish& step,
              const index::PublicationRecord& record, const index::BundleRecord& compile,
              const std::optional<SignedImage>& image) {
  KILN_ASSIGN(auto current,
              index::loadJob(connection, snapshot.job.key, index::Evidence::kWithout, index::Lock::kUpdate));
  KILN_TRY(index::insertPublication(connection, record));
  KILN_TRY(index::insertStatement(connection, snapshot.job.key.instance, record.artifact.digest, compile));
  if (image) {
    KILN_TRY(
        index::insertStatement(connection, snapshot.job.key.instance, record.artifact.digest, image->bundle));
    KILN_TRY(index::insertImage(connection, snapshot.job.key.instance, image->image, record.bundle.recorded));
  }
  KILN_TRY(index::markDisputed(connection, step.dissent));
  if (!current || !index::isOpen(current->job.state)) return {};
  std::vector<std::string> builders;
  for (const index::BuilderRecord& builder : record.builders) builders.push_back(builder.worker);
  return index::setTargetArtifact(connection, snapshot.job.key, step.target, record.artifact.digest,
                                  !builtHere(snapshot, step), builders);
}

}  // namespace

Status Publisher::publish(const index::JobSnapshot& snapshot, const jobs::Publish& step) {
  const index::JobKey& key = snapshot.job.key;
  const Clock& clock = judging_.stores.clock;
  const tracing::Scope scope(observers_.tracing.sink, spanOf(snapshot.job), "publish", clock);
  KILN_ASSIGN(jobs::Publication publication,
              assemble(judging_.stores, judging_.signatory.builder, snapshot, step));
  // The same inputs give the same bytes again.
  std::vector<Digest> content{publication.record.artifact.digest};
  for (const index::MaterialRecord& material : publication.record.materials)
    content.push_back(material.digest);
  KILN_TRY(checkNotRecalled(judging_.recalls, content));
  KILN_TRY(checkEvidence(judging_, snapshot, step, publication));
  for (const Digest& policy : publication.sandboxPolicies)
    if (auto status = rehash(judging_.stores.blobs, key.instance, policy); !status)
      return fail(status.error().in("sandbox policy"));
  std::vector<storage::UploadItem> blobs{{digestOf(publication.ociManifest), {}, publication.ociManifest}};
  for (const auto* documents : {&publication.receiptDocuments, &publication.dissentDocuments})
    for (const std::string& receipt : *documents) blobs.push_back({digestOf(receipt), {}, receipt});
  KILN_ASSIGN(storage::BuiltTree fixtures, fixturesTree(step));
  blobs.insert(blobs.end(), fixtures.directories.begin(), fixtures.directories.end());
  KILN_TRY(storage::uploadMissing(judging_.stores.blobs, key.instance, blobs));
  observers_.reached(kPointAssembled);

  index::PublicationRecord record = publication.record;
  record.artifact.fixtures = fixtures.root;
  const std::uint64_t size = record.artifact.digest.size;
  const auto signedBundles = [&] {
    // Until a checkpoint of the log covers it.
    tracing::Scope signs(observers_.tracing.sink, scope.context(), "sign and log", clock,
                         tracing::SpanKind::kClient);
    auto bundles = judging_.signatory.signer.signAll(
        std::array{signing::SignRequest{.instance = key.instance,
                                        .statement = publication.statement,
                                        .subjectSize = size,
                                        .receipts = publication.receiptDocuments,
                                        .trace = signs.header()},
                   signing::SignRequest{.instance = key.instance,
                                        .statement = publication.compile,
                                        .subjectSize = size,
                                        .receipts = {},
                                        .trace = signs.header()}});
    if (!bundles) signs.failed(bundles.error().message);
    return bundles;
  }();
  if (!signedBundles) return fail(signedBundles.error().in("signer"));
  observers_.reached(kPointSigned);
  index::BundleRecord compile{
      digestOf(publication.compile), {}, kCompileType, key.id, record.bundle.recorded};
  index::BundleRecord* const records[] = {&record.bundle, &compile};
  KILN_TRY(keepBundles(judging_.stores.blobs, key.instance, *signedBundles, records));
  observers_.reached(kPointBundleStored);
  const auto image = [&] {
    tracing::Scope makes(observers_.tracing.sink, scope.context(), "image", clock);
    auto made = signImage(judging_, {.artifact = record.artifact,
                                     .ociManifest = publication.ociManifest,
                                     .bundles = {record.bundle.bundle, compile.bundle},
                                     .job = key.id,
                                     .recorded = record.bundle.recorded,
                                     .trace = makes.header()});
    if (!made) makes.failed(made.error().message);
    return made;
  }();
  if (!image) return fail(image.error().in("image"));

  {
    const tracing::Scope indexes(observers_.tracing.sink, scope.context(), "index", clock);
    KILN_TRY(judging_.stores.database.transact(
        [&](Connection& c) { return commit(c, snapshot, step, record, compile, *image); }));
  }
  observers_.metrics.artifactPublished();
  logInfo("artifact published", {{"instance", key.instance},
                                 {"job", key.id},
                                 {"action", step.action.hex()},
                                 {"trace", tracing::traceOf(snapshot.job.trace)},
                                 {"artifact", record.artifact.digest.text()},
                                 {"builders", std::to_string(record.builders.size())},
                                 {"dissenting", std::to_string(step.dissent.size())}});
  observers_.reached(kPointPublished);
  return {};
}

}  // namespace kiln::service
