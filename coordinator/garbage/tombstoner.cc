#include "coordinator/garbage/tombstoner.h"

#include <algorithm>

#include "coordinator/farm/log.h"
#include "coordinator/signatures/statement_reader.h"
#include "manifest/statement/tombstone.h"
#include "signing/bundle/bundle.h"
#include "storage/index/artifacts/artifact_repository.h"

namespace kiln::service {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 12u << 20;

Result<index::ArtifactRecord> load(postgres::Pool& database, const std::string& instance,
                                   const std::string& artifact) {
  KILN_ASSIGN(Digest digest, Digest::parse(artifact, 0));
  KILN_ASSIGN(auto connection, database.acquire());
  KILN_ASSIGN(auto found, index::loadArtifact(*connection, instance, digest));
  if (!found) return fail(Code::kNotFound, "no artifact " + digest.text() + " is published here");
  return std::move(*found);
}

// The payloads of its provenances that no tombstone covers yet, sorted.
Result<std::vector<Digest>> uncovered(storage::BlobStore& blobs, const index::ArtifactRecord& artifact) {
  std::vector<Digest> payloads;
  std::vector<Tombstone> tombstones;
  for (const index::BundleRecord& record : artifact.bundles) {
    if (record.predicateType == kProvenanceType) payloads.push_back({record.payload.hash, 0});
    if (record.predicateType != kTombstoneType) continue;
    KILN_ASSIGN(std::string text, storage::getBlob(blobs, artifact.instance, record.bundle, kMaxBundleBytes));
    KILN_ASSIGN(signing::Bundle bundle, signing::parseBundle(text));
    KILN_ASSIGN(Statement said, parseStatement(bundle.envelope.payload));
    KILN_ASSIGN(Tombstone tombstone, Tombstone::fromJson(said.predicate));
    tombstones.push_back(std::move(tombstone));
  }
  std::erase_if(payloads, [&](const Digest& payload) {
    return std::any_of(tombstones.begin(), tombstones.end(),
                       [&](const Tombstone& tombstone) { return tombstone.covers(payload); });
  });
  std::sort(payloads.begin(), payloads.end());
  return payloads;
}

}  // namespace

Result<index::ArtifactRecord> addTombstone(const Stores& stores, const Signatory& signatory,
                                           const std::string& instance, const std::string& artifact,
                                           const std::string& reason) {
  KILN_ASSIGN(index::ArtifactRecord record, load(stores.database, instance, artifact));
  Tombstone tombstone{.builderId = signatory.builder.id, .reason = reason, .issuedOn = stores.clock.now()};
  KILN_ASSIGN(tombstone.statements, uncovered(stores.blobs, record));
  if (tombstone.statements.empty()) return record;
  KILN_ASSIGN(std::string statement, tombstoneStatement(record.digest, tombstone));
  auto bundle = signatory.signer.sign(
      {.instance = instance, .statement = statement, .subjectSize = record.digest.size, .receipts = {}});
  if (!bundle) return fail(bundle.error().in("signer"));
  index::BundleRecord stored{digestOf(statement), digestOf(*bundle), kTombstoneType, "", tombstone.issuedOn};
  KILN_TRY(readMentions(*bundle, stored));
  KILN_TRY(storage::putBlob(stores.blobs, instance, stored.bundle, asBytes(*bundle)));
  KILN_TRY(stores.database.transact(
      [&](postgres::Connection& c) { return index::insertStatement(c, instance, record.digest, stored); }));
  logInfo("artifact tombstoned",
          {{"instance", instance}, {"artifact", record.digest.text()}, {"reason", reason}});
  return load(stores.database, instance, artifact);
}

}  // namespace kiln::service
