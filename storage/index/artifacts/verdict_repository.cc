#include "storage/index/artifacts/verdict_repository.h"

#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;
namespace {

VerdictRecord verdictAt(const Row& row) {
  return {hashAt(row, "payload_hash"), hashAt(row, "facts"), row.get<bool>("passed")};
}

}  // namespace

Status putPoliciesInForce(Connection& connection, const Digest& policies) {
  KILN_TRY(
      connection.execute("INSERT INTO policies_in_force (policies) VALUES ($1) ON CONFLICT (only_row) DO "
                         "UPDATE SET policies = excluded.policies",
                         {hashParam(policies)}));
  return {};
}

Result<bool> arePoliciesInForce(Connection& connection, const Digest& policies) {
  KILN_ASSIGN(const Rows rows,
              connection.execute("SELECT FROM policies_in_force WHERE policies = $1", {hashParam(policies)}));
  return rows.affected() > 0;
}

Status setBasis(Connection& connection, const std::string& instance, const Digest& basis, TimePoint now) {
  // Mostly it has not changed, and an upsert would lock the row and have its lock written to the disk.
  KILN_ASSIGN(const Rows same,
              connection.execute("SELECT FROM instance_policies WHERE instance = $1 AND basis = $2",
                                 {instance, hashParam(basis)}));
  if (same.affected() > 0) return {};
  KILN_ASSIGN(const Rows changed,
              connection.execute("INSERT INTO instance_policies AS p VALUES ($1, $2) ON CONFLICT (instance) "
                                 "DO UPDATE SET basis = excluded.basis WHERE p.basis <> excluded.basis",
                                 {instance, hashParam(basis)}));
  if (changed.affected() == 0) return {};
  KILN_TRY(connection.execute(
      "INSERT INTO verdicts_due (instance, artifact_hash, since) SELECT instance, hash, $2::timestamptz FROM "
      "artifacts WHERE instance = $1 ON CONFLICT (instance, artifact_hash) DO UPDATE SET since = "
      "excluded.since, revision = excluded.revision",
      {instance, now}));
  return {};
}

Status keepPolicies(Connection& connection, const std::vector<std::string>& instances) {
  KILN_TRY(connection.execute("DELETE FROM instance_policies WHERE instance <> ALL($1)", {instances}));
  return {};
}

Result<std::vector<DueArtifact>> listDue(Connection& connection, std::uint64_t revision, int limit) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT * FROM verdicts_due WHERE revision > $1 ORDER BY revision LIMIT $2",
                                 {revision, limit}));
  return rows.map([](const Row& row) {
    return DueArtifact{row.get<std::string>("instance"), hashAt(row, "artifact_hash"),
                       row.get<TimePoint>("since"), row.get<std::uint64_t>("revision")};
  });
}

Result<std::uint64_t> newestDue(Connection& connection) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT coalesce(max(revision), 0)::bigint AS newest FROM verdicts_due"));
  KILN_ASSIGN(auto newest, rows.first([](const Row& row) { return row.get<std::uint64_t>("newest"); }));
  return newest.value_or(0);
}

Status settle(Connection& connection, const DueArtifact& due) {
  KILN_TRY(
      connection.execute("DELETE FROM verdicts_due WHERE instance = $1 AND artifact_hash = $2 AND "
                         "revision = $3",
                         {due.instance, hashParam(due.artifact), due.revision}));
  return {};
}

Result<std::optional<VerdictRecord>> latestVerdict(Connection& connection, const std::string& instance,
                                                   const Digest& artifact) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT * FROM verdicts WHERE instance = $1 AND artifact_hash = $2",
                                 {instance, hashParam(artifact)}));
  return rows.first(verdictAt);
}

Result<std::map<Digest, StoredVerdict>> verdictsOf(Connection& connection, const std::string& instance,
                                                   const std::vector<Digest>& payloads) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT * FROM verdicts WHERE instance = $1 AND payload_hash = "
                                            "ANY($2::bytea[])",
                                            {instance, hashesParam(payloads)}));
  KILN_ASSIGN(const auto found, rows.map([](const Row& row) {
    return StoredVerdict{hashAt(row, "artifact_hash"), verdictAt(row)};
  }));
  std::map<Digest, StoredVerdict> out;
  for (const StoredVerdict& each : found) out.emplace(each.verdict.payload, each);
  return out;
}

Result<bool> insertVerdict(Connection& connection, const DueArtifact& due, const BundleRecord& bundle,
                           const VerdictRecord& verdict) {
  KILN_ASSIGN(const Rows still,
              connection.execute("SELECT 1 FROM verdicts_due WHERE instance = $1 AND artifact_hash = $2 "
                                 "FOR UPDATE",
                                 {due.instance, hashParam(due.artifact)}));
  if (still.affected() == 0) return false;
  KILN_ASSIGN(const auto before, latestVerdict(connection, due.instance, due.artifact));
  KILN_TRY(storeStatement(connection, due.instance, due.artifact, bundle));
  KILN_TRY(connection.execute(
      "INSERT INTO verdicts VALUES ($1, $2, $3, $4, $5) ON CONFLICT (instance, artifact_hash) DO UPDATE SET "
      "payload_hash = excluded.payload_hash, facts = excluded.facts, passed = excluded.passed",
      {due.instance, hashParam(due.artifact), hashParam(verdict.payload), hashParam(verdict.facts),
       verdict.passed}));
  if (before && before->payload != verdict.payload)
    KILN_TRY(connection.execute("DELETE FROM statements WHERE instance = $1 AND payload_hash = $2",
                                {due.instance, hashParam(before->payload)}));
  KILN_TRY(settle(connection, due));
  return true;
}

}  // namespace kiln::index
