#include "coordinator/drivers/reproducer.h"

#include <fmt/format.h>

#include "coordinator/drivers/sandbox_rule.h"
#include "coordinator/farm/log.h"
#include "coordinator/jobs/evidence.h"
#include "coordinator/jobs/publication.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/signatures/statement_reader.h"
#include "manifest/artifact/oci.h"
#include "manifest/statement/reproduction.h"
#include "signing/receipt/receipt.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/tree/tree_builder.h"

namespace kiln::service {
namespace {

using postgres::Connection;

// Files that came out otherwise, as kiln diff and a person want them.
class Differences {
 public:
  void compare(const std::string& path, const Digest& wanted, const Digest* found) {
    if (found && *found == wanted) return;
    list_.push_back({{"path", path}, {"first", wanted.text()}, {"second", found ? found->text() : ""}});
    if (list_.size() <= kMaxNamed) names_ += (names_.empty() ? "" : ", ") + path;
  }
  Status status(const std::string& worker) const {
    if (list_.empty()) return {};
    const std::string more =
        list_.size() > kMaxNamed ? fmt::format(" and {} more", list_.size() - kMaxNamed) : "";
    return fail(Error{
        Code::kFailedPrecondition, fmt::format("not reproduced by {}; different: {}{}", worker, names_, more),
        Json{{"exitCode", kExitNotReproducible}, {"differences", list_}, {"workers", {"artifact", worker}}}
            .dump()});
  }

 private:
  static constexpr std::size_t kMaxNamed = 10;
  Json list_ = Json::array();
  std::string names_;
};

Result<index::ArtifactRecord> artifactOf(postgres::Pool& database, const std::string& instance,
                                         const Digest& digest) {
  KILN_ASSIGN(auto connection, database.acquire());
  KILN_ASSIGN(auto artifact, index::loadArtifact(*connection, instance, digest));
  if (!artifact) return fail(Code::kNotFound, "artifact " + digest.text() + " is gone");
  return std::move(*artifact);
}

Result<Digest> fixturesOf(const index::ResultRecord& reference) {
  KILN_ASSIGN(const jobs::Outputs outputs, jobs::readOutputs(reference));
  storage::TreeBuilder builder;
  for (const jobs::OutputFile& file : outputs.files) KILN_TRY(builder.addFile(file.path, file.digest, false));
  return builder.build().root;
}

// The digest of the OCI manifest that these outputs make.
Result<Digest> artifactDigest(storage::BlobStore& blobs, const std::string& instance,
                              const Digest& manifestBlob) {
  KILN_ASSIGN(const std::string text, storage::getBlob(blobs, instance, manifestBlob, jobs::kMaxDocument));
  KILN_ASSIGN(const Json json, parseCanonicalJson(text));
  KILN_ASSIGN(const Manifest manifest, Manifest::fromJson(json));
  KILN_ASSIGN(const std::string oci, makeOciManifest(manifest, manifestBlob));
  return digestOf(oci);
}

Status compare(storage::BlobStore& blobs, const index::ArtifactRecord& artifact, const jobs::Outputs& outputs,
               const jobs::Publish& step) {
  const std::string& worker = step.evidence.front().worker;
  Differences differences;
  const auto found = [&](const std::string& path) {
    const jobs::OutputFile* file = outputs.find(path);
    return file ? &file->digest : nullptr;
  };
  differences.compare(jobs::kManifestFile, artifact.config, found(jobs::kManifestFile));
  for (const index::FileRecord& file : artifact.files)
    differences.compare(file.path, file.digest, found(file.path));
  if (artifact.fixtures) {
    KILN_ASSIGN(const Digest fixtures, fixturesOf(step.reference));
    differences.compare("fixtures", *artifact.fixtures, &fixtures);
  }
  KILN_TRY(differences.status(worker));
  KILN_ASSIGN(const Digest made, artifactDigest(blobs, artifact.instance, artifact.config));
  differences.compare("artifact.json", artifact.digest, &made);
  return differences.status(worker);
}

}  // namespace

Status publishReproduction(const Judging& judging, const index::JobSnapshot& snapshot,
                           const DeliverySpec& delivery, const jobs::Publish& step) {
  const Stores& stores = judging.stores;
  const index::JobKey& key = snapshot.job.key;
  const index::ResultRecord& result = step.evidence.front();
  KILN_ASSIGN(const index::ArtifactRecord artifact,
              artifactOf(stores.database, key.instance, delivery.rebuild->artifact));
  KILN_ASSIGN(const jobs::Outputs outputs, jobs::readOutputs(result));
  KILN_TRY(compare(stores.blobs, artifact, outputs, step));

  KILN_ASSIGN(const signing::Certificate certificate, signing::Certificate::fromPem(result.certificate));
  KILN_ASSIGN(const std::string document, signing::receiptDocument(result.receipt, certificate));
  KILN_ASSIGN(const signing::Receipt receipt, signing::readReceipt(result.receipt));
  Reproduction again;
  again.rebuilderId = judging.signatory.builder.id;
  again.worker = result.worker;
  again.operatorName = result.operatorName;
  again.invocationId = key.id;
  again.compile = step.action;
  again.manifest = artifact.config;
  again.sandboxPolicy = receipt.sandboxPolicy;
  KILN_ASSIGN(again.sandbox, foreignSandboxOf(stores.blobs, key.instance, receipt.sandboxPolicy));
  again.receipt = digestOf(document);
  again.startedOn = std::min(result.leased, result.recorded);
  again.finishedOn = result.recorded;
  KILN_ASSIGN(const std::string statement, reproductionStatement(artifact.digest, again));
  KILN_ASSIGN(Maker maker, makerOf(result));
  KILN_TRY(
      checkCounts(judging.recalls, {{digestOf(statement), again.finishedOn, nullptr}, {std::move(maker)}}));
  KILN_TRY(storage::putBlob(stores.blobs, key.instance, *again.receipt, asBytes(document)));
  auto bundle = judging.signatory.signer.sign({.instance = key.instance,
                                               .statement = statement,
                                               .subjectSize = artifact.digest.size,
                                               .receipts = {document}});
  if (!bundle) return fail(bundle.error().in("signer"));
  index::BundleRecord record{digestOf(statement), digestOf(*bundle), kReproductionType, key.id,
                             stores.clock.now()};
  KILN_TRY(readMentions(*bundle, record));
  KILN_TRY(storage::putBlob(stores.blobs, key.instance, record.bundle, asBytes(*bundle)));
  KILN_TRY(stores.database.transact([&](Connection& c) -> Status {
    KILN_ASSIGN(auto current, index::loadJob(c, key, index::Evidence::kWithout, index::Lock::kUpdate));
    KILN_TRY(index::insertStatement(c, key.instance, artifact.digest, record));
    if (!current || !index::isOpen(current->job.state)) return {};
    return index::setTargetArtifact(c, key, step.target, artifact.digest, false, {result.worker});
  }));
  logInfo("artifact reproduced", {{"instance", key.instance},
                                  {"job", key.id},
                                  {"artifact", artifact.digest.text()},
                                  {"worker", result.worker}});
  return {};
}

}  // namespace kiln::service
