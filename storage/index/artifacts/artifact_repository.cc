#include "storage/index/artifacts/artifact_repository.h"

#include "storage/index/artifacts/artifact_codec.h"
#include "storage/index/artifacts/mention_repository.h"
#include "storage/index/artifacts/referrer_repository.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

Status insertEdges(Connection& connection, const PublicationRecord& publication) {
  const std::string& instance = publication.artifact.instance;
  for (const MaterialRecord& material : publication.materials)
    KILN_TRY(connection.execute(
        "INSERT INTO materials VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        {instance, hashParam(publication.bundle.payload), hashParam(publication.artifact.digest),
         material.kind, material.name, material.uri, hashParam(material.digest), material.digest.size}));
  for (const BuilderRecord& builder : publication.builders)
    KILN_TRY(
        connection.execute("INSERT INTO builders VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
                           {instance, hashParam(publication.bundle.payload),
                            hashParam(publication.artifact.digest), builder.worker, builder.operatorName}));
  return {};
}

}  // namespace

Result<bool> storeStatement(Connection& connection, const std::string& instance, const Digest& artifact,
                            const BundleRecord& bundle) {
  KILN_ASSIGN(const Rows stored,
              connection.execute(
                  "INSERT INTO statements VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
                  {instance, hashParam(bundle.payload), hashParam(artifact), bundle.predicateType,
                   hashParam(bundle.bundle), bundle.bundle.size, bundle.jobId, bundle.recorded}));
  KILN_TRY(nameReferrers(connection));
  if (bundle.signer) KILN_TRY(insertMentions(connection, instance, bundle));
  return stored.affected() > 0;
}

Status insertStatement(Connection& connection, const std::string& instance, const Digest& artifact,
                       const BundleRecord& bundle) {
  KILN_ASSIGN(const bool isNew, storeStatement(connection, instance, artifact, bundle));
  if (!isNew) return {};
  KILN_TRY(connection.execute(
      "INSERT INTO verdicts_due (instance, artifact_hash, since) SELECT instance, $2::bytea, $3::timestamptz "
      "FROM instance_policies WHERE instance = $1 ON CONFLICT (instance, artifact_hash) DO UPDATE SET since "
      "= "
      "excluded.since, revision = excluded.revision",
      {instance, hashParam(artifact), bundle.recorded}));
  return {};
}

Status insertPublication(Connection& connection, const PublicationRecord& publication) {
  const ArtifactRecord& artifact = publication.artifact;
  KILN_TRY(
      connection.execute("INSERT INTO artifacts (instance, hash, size, config_hash, config_size, target, "
                         "toolchain_label, toolchain_hash, "
                         "published) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
                         {artifact.instance, hashParam(artifact.digest), artifact.digest.size,
                          hashParam(artifact.config), artifact.config.size, artifact.target,
                          artifact.toolchainLabel, hashParam(artifact.toolchainDigest), artifact.published}));
  if (artifact.fixtures)
    KILN_TRY(connection.execute(
        "UPDATE artifacts SET fixtures_hash = $3, fixtures_size = $4 WHERE instance = $1 AND hash = $2",
        {artifact.instance, hashParam(artifact.digest), hashParam(*artifact.fixtures),
         artifact.fixtures->size}));
  for (const FileRecord& file : artifact.files)
    KILN_TRY(connection.execute(
        "INSERT INTO artifact_files VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        {artifact.instance, hashParam(artifact.digest), file.path, file.mediaType, hashParam(file.digest),
         file.digest.size}));
  KILN_TRY(insertStatement(connection, artifact.instance, artifact.digest, publication.bundle));
  KILN_TRY(insertEdges(connection, publication));
  KILN_TRY(connection.execute(
      "INSERT INTO artifact_actions VALUES ($1, $2, $3) ON CONFLICT (instance, action_hash) "
      "DO UPDATE SET artifact_hash = excluded.artifact_hash",
      {artifact.instance, hashParam(publication.action), hashParam(artifact.digest)}));
  return {};
}

Result<std::optional<Digest>> findPublishedBlob(Connection& connection, const std::string& instance,
                                                const Digest& hash) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT hash, size FROM artifact_files WHERE instance = $1 AND hash = $2 UNION ALL "
          "SELECT hash, size FROM artifacts WHERE instance = $1 AND hash = $2 UNION ALL "
          "SELECT config_hash, config_size FROM artifacts WHERE instance = $1 AND config_hash = $2 UNION ALL "
          "SELECT bundle_hash, bundle_size FROM statements WHERE instance = $1 AND bundle_hash = $2 UNION "
          "ALL "
          "SELECT hash, size FROM artifact_ir_files WHERE instance = $1 AND hash = $2 LIMIT 1",
          {instance, hashParam(hash)}));
  return rows.first([](const Row& row) { return digestAt(row, "hash", "size"); });
}

Result<std::vector<Digest>> findArtifactsOf(Connection& connection, const std::string& instance,
                                            const Digest& blob) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT a.hash, a.size FROM artifacts a WHERE a.instance = $1 AND a.hash IN ("
          "SELECT artifact_hash FROM artifact_files WHERE instance = $1 AND hash = $2 UNION ALL "
          "SELECT hash FROM artifacts WHERE instance = $1 AND (hash = $2 OR config_hash = $2) UNION ALL "
          "SELECT artifact_hash FROM statements WHERE instance = $1 AND bundle_hash = $2 UNION ALL "
          "SELECT artifact_hash FROM artifact_ir_files WHERE instance = $1 AND hash = $2) "
          "ORDER BY a.published DESC, a.hash LIMIT 256",
          {instance, hashParam(blob)}));
  return rows.map([](const Row& row) { return digestAt(row, "hash", "size"); });
}

Result<std::vector<Digest>> findArtifactsIn(Connection& connection, const std::string& instance,
                                            const DigestRange& range) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute("SELECT hash, size FROM artifacts WHERE instance = $1 AND hash BETWEEN $2 AND $3 "
                         "ORDER BY hash LIMIT $4",
                         {instance, hashParam(range.first), hashParam(range.last), kMaxMeant}));
  return rows.map([](const Row& row) { return digestAt(row, "hash", "size"); });
}

Result<std::map<Digest, ArtifactRecord>> findByActions(Connection& connection, const std::string& instance,
                                                       const std::vector<Digest>& actions) {
  KILN_ASSIGN(Rows rows,
              connection.execute(
                  "SELECT a.*, c.hash AS action_hash, c.size AS action_size FROM artifact_actions x "
                  "JOIN artifacts a ON a.instance = x.instance AND a.hash = x.artifact_hash "
                  "JOIN actions c ON c.instance = x.instance AND c.hash = x.action_hash "
                  "WHERE x.instance = $1 AND x.action_hash = ANY($2) AND NOT EXISTS (SELECT FROM "
                  "action_results r WHERE r.instance = $1 AND r.action_hash = x.action_hash AND r.disputed)",
                  {instance, hashesParam(actions)}));
  KILN_ASSIGN(auto found, rows.map([](const Row& row) {
    return std::pair(digestAt(row, "action_hash", "action_size"), artifactAt(row));
  }));
  return std::map<Digest, ArtifactRecord>(std::make_move_iterator(found.begin()),
                                          std::make_move_iterator(found.end()));
}

}  // namespace kiln::index
