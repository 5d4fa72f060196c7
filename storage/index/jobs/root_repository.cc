#include "storage/index/jobs/root_repository.h"

#include "storage/index/jobs/result_repository.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;
using Roots = std::map<std::string, InstanceRoots>;

constexpr char kOpenSources[] =
    "SELECT s.instance, s.hash, s.size FROM sources s JOIN jobs j ON j.instance = s.instance AND j.id = "
    "s.job_id WHERE j.state IN (1, 2, 3) AND s.hash IS NOT NULL";
// A fetch (kind 1) has the digest of its source's text, which is no blob.
constexpr char kOpenActions[] =
    "SELECT a.instance, a.hash, a.size FROM actions a WHERE a.kind <> 1 AND EXISTS (SELECT FROM job_actions "
    "x "
    "JOIN jobs j ON j.instance = x.instance AND j.id = x.job_id WHERE x.instance = a.instance AND "
    "x.action_hash = a.hash AND j.state IN (1, 2, 3))";
constexpr char kTrees[] =
    "SELECT instance, hash, size FROM toolchains UNION SELECT instance, toolchain_hash, toolchain_size FROM "
    "jobs WHERE state IN (1, 2, 3) AND toolchain_size > 0";
constexpr char kLocks[] =
    "SELECT instance, lock_hash AS hash, lock_size AS size FROM toolchain_admissions WHERE locked";
constexpr char kAdmissions[] =
    "SELECT instance, bundle_hash AS hash, bundle_size AS size FROM toolchain_admissions";

constexpr char kTuned[] =
    "SELECT instance, record_hash AS hash, record_size AS size FROM tuning_records UNION ALL SELECT "
    "t.instance, "
    "t.tuning_hash, t.tuning_size FROM job_targets t JOIN jobs j ON j.instance = t.instance AND j.id = "
    "t.job_id "
    "WHERE t.tuning_hash IS NOT NULL AND j.state IN (1, 2, 3)";
constexpr char kTuningStatements[] =
    "SELECT instance, bundle_hash AS hash, bundle_size AS size FROM tuning_records";

// Rows of instance, hash and size.
Status addDigests(Connection& connection, std::string_view sql, std::vector<Digest> InstanceRoots::* to,
                  Roots& roots) {
  KILN_ASSIGN(Rows rows, connection.execute(sql));
  KILN_ASSIGN(auto found, rows.map([](const Row& row) {
    return std::pair(row.get<std::string>("instance"), digestAt(row, "hash", "size"));
  }));
  for (auto& [instance, digest] : found) (roots[instance].*to).push_back(digest);
  return {};
}

Status addArtifacts(Connection& connection, Roots& roots) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT instance, hash, size, fixtures_hash, fixtures_size FROM artifacts"));
  KILN_ASSIGN(auto artifacts, rows.map([](const Row& row) {
    return std::pair(
        row.get<std::string>("instance"),
        ArtifactRoot{
            digestAt(row, "hash", "size"), optionalDigestAt(row, "fixtures_hash", "fixtures_size"), {}});
  }));
  std::map<std::pair<std::string, Digest>, ArtifactRoot*> byHash;
  for (auto& [instance, artifact] : artifacts) {
    const Digest hash{artifact.manifest.hash, 0};
    byHash[{instance, hash}] = &(roots[instance].artifacts[artifact.manifest] = std::move(artifact));
  }
  KILN_ASSIGN(Rows statements,
              connection.execute("SELECT * FROM statements ORDER BY recorded, payload_hash"));
  KILN_ASSIGN(auto bundles, statements.map([](const Row& row) {
    return std::pair(std::pair(row.get<std::string>("instance"), hashAt(row, "artifact_hash")),
                     BundleRecord{hashAt(row, "payload_hash"), digestAt(row, "bundle_hash", "bundle_size"),
                                  row.get<std::string>("predicate_type"), row.get<std::string>("job_id"),
                                  row.get<TimePoint>("recorded")});
  }));
  for (auto& [key, bundle] : bundles)
    if (auto found = byHash.find(key); found != byHash.end())
      found->second->bundles.push_back(std::move(bundle));
  return {};
}

Status addDeliveries(Connection& connection, Roots& roots) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT instance, delivery FROM jobs WHERE state IN (1, 2, 3)"));
  KILN_ASSIGN(auto deliveries, rows.map([](const Row& row) {
    return std::pair(row.get<std::string>("instance"), row.get<std::string>("delivery"));
  }));
  for (auto& [instance, delivery] : deliveries) roots[instance].deliveries.push_back(std::move(delivery));
  return {};
}

}  // namespace

Result<Roots> loadRoots(Connection& connection, TimePoint disputedSince) {
  Roots roots;
  KILN_TRY(addArtifacts(connection, roots));
  KILN_TRY(addDigests(connection, kTrees, &InstanceRoots::toolchains, roots));
  KILN_TRY(addDigests(connection, kLocks, &InstanceRoots::locks, roots));
  KILN_TRY(addDigests(connection, kAdmissions, &InstanceRoots::admissions, roots));
  KILN_TRY(addDigests(connection, kOpenSources, &InstanceRoots::sources, roots));
  KILN_TRY(addDigests(connection, kOpenActions, &InstanceRoots::actions, roots));
  KILN_TRY(addDigests(connection, kTuned, &InstanceRoots::tuned, roots));
  KILN_TRY(addDigests(connection, kTuningStatements, &InstanceRoots::tuningStatements, roots));
  KILN_TRY(addDeliveries(connection, roots));
  KILN_ASSIGN(auto results, protectedResults(connection, disputedSince));
  for (ResultRecord& result : results) roots[result.instance].results.push_back(std::move(result));
  return roots;
}

}  // namespace kiln::index
