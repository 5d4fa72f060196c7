#include "storage/index/artifacts/attestation_repository.h"

#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

Status checkRoom(Connection& connection, const std::string& instance, const Digest& artifact,
                 std::uint64_t bytes, const AttestationLimits& limits) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT (SELECT count(*) FROM attestations WHERE instance = $1 AND artifact_hash = $2) AS here, "
          "(SELECT coalesce(sum(s.bundle_size), 0)::bigint FROM attestations a JOIN statements s USING "
          "(instance, payload_hash) WHERE a.instance = $1 AND a.artifact_hash = $2) AS bytes, "
          "(SELECT count(*) FROM (SELECT FROM attestations WHERE instance = $1 LIMIT $3) AS counted) AS "
          "\"all\"",
          {instance, hashParam(artifact), limits.perInstance}));
  struct Kept {
    std::int64_t here = 0, bytes = 0, all = 0;
  };
  KILN_ASSIGN(const auto kept, rows.first([&](const Row& row) {
    return Kept{row.get<std::int64_t>("here"), row.get<std::int64_t>("bytes"), row.get<std::int64_t>("all")};
  }));
  if (!kept) return {};
  if (kept->here >= limits.perArtifact)
    return fail(Code::kResourceExhausted, "the artifact has " + std::to_string(limits.perArtifact) +
                                              " statements of third parties, and may have no more");
  if (kept->bytes + static_cast<std::int64_t>(bytes) > limits.bytesPerArtifact)
    return fail(Code::kResourceExhausted, "the artifact has " + std::to_string(kept->bytes) +
                                              " bytes of third parties' statements, and with this one of " +
                                              std::to_string(bytes) + " would have more than " +
                                              std::to_string(limits.bytesPerArtifact) +
                                              "; keep what is long elsewhere, and state its digest");
  if (kept->all >= limits.perInstance)
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
  KILN_TRY(checkRoom(connection, instance, artifact, bundle.bundle.size, limits));
  KILN_TRY(insertStatement(connection, instance, artifact, bundle));
  KILN_TRY(connection.execute("INSERT INTO attestations VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                              {instance, hashParam(bundle.payload), hashParam(artifact), bundle.recorded}));
  return {};
}

}  // namespace kiln::index
