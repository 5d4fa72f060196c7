#include "storage/index/artifacts/attestation_repository.h"

#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

Status checkRoom(Connection& connection, const std::string& instance, const Digest& artifact,
                 const AttestationLimits& limits) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT (SELECT count(*) FROM attestations WHERE instance = $1 AND artifact_hash = $2) AS here, "
          "(SELECT count(*) FROM (SELECT FROM attestations WHERE instance = $1 LIMIT $3) AS counted) AS "
          "\"all\"",
          {instance, hashParam(artifact), limits.perInstance}));
  KILN_ASSIGN(const auto full, rows.first([&](const Row& row) {
    return std::pair(row.get<std::int64_t>("here") >= limits.perArtifact,
                     row.get<std::int64_t>("all") >= limits.perInstance);
  }));
  if (full && full->first)
    return fail(Code::kResourceExhausted, "the artifact has " + std::to_string(limits.perArtifact) +
                                              " statements of third parties, and may have no more");
  if (full && full->second)
    return fail(Code::kResourceExhausted, "the instance has " + std::to_string(limits.perInstance) +
                                              " statements of third parties, and may have no more");
  return {};
}

Result<std::optional<BundleRecord>> findAttestation(Connection& connection, const std::string& instance,
                                                    const Digest& payload) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT s.* FROM attestations a JOIN statements s USING (instance, "
                                 "payload_hash) WHERE a.instance = $1 AND a.payload_hash = $2",
                                 {instance, hashParam(payload)}));
  return rows.first([](const Row& row) {
    return BundleRecord{hashAt(row, "payload_hash"), digestAt(row, "bundle_hash", "bundle_size"),
                        row.get<std::string>("predicate_type"), row.get<std::string>("job_id"),
                        row.get<TimePoint>("recorded")};
  });
}

Status insertAttestation(Connection& connection, const std::string& instance, const Digest& artifact,
                         const BundleRecord& bundle, const AttestationLimits& limits) {
  KILN_TRY(connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('kiln attestations ' || $1, 0))",
                              {instance}));
  KILN_ASSIGN(const auto kept, findAttestation(connection, instance, bundle.payload));
  if (kept) return {};
  KILN_TRY(checkRoom(connection, instance, artifact, limits));
  KILN_TRY(insertStatement(connection, instance, artifact, bundle));
  KILN_TRY(connection.execute("INSERT INTO attestations VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                              {instance, hashParam(bundle.payload), hashParam(artifact), bundle.recorded}));
  return {};
}

}  // namespace kiln::index
