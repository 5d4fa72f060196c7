// Published artifacts with what belongs to them, read back: each kind of rows by one statement, however many
// artifacts are asked for.
#include <fmt/format.h>

#include "storage/index/artifacts/artifact_codec.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

constexpr int kMaxJobs = 1000;  // of an artifact alone

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

// Records of one instance, which their owner keeps in place, by their hashes.
class Records {
 public:
  Records(std::string instance, std::span<ArtifactRecord> records) : instance_(std::move(instance)) {
    for (ArtifactRecord& record : records) {
      hashes_.push_back(record.digest);
      of_.emplace(record.digest.hash, &record);
    }
  }
  // Rows of `sql`, whose $1 and $2 are the instance and the hashes, each handed on with the record of its
  // artifact_hash.
  template <class Take>
  Status each(Connection& connection, const std::string& sql, Take take) const {
    KILN_ASSIGN(Rows rows, connection.execute(sql, {instance_, hashesParam(hashes_)}));
    for (int i = 0; i < rows.size(); ++i)
      if (const auto owner = of_.find(hashAt(rows[i], "artifact_hash").hash); owner != of_.end())
        take(rows[i], *owner->second);
    return rows.status();
  }

 private:
  std::string instance_;
  std::vector<Digest> hashes_;
  std::map<std::array<std::uint8_t, 32>, ArtifactRecord*> of_;
};

Status readFiles(Connection& connection, const Records& records) {
  return records.each(
      connection,
      "SELECT artifact_hash, path, media_type, hash, size FROM artifact_files WHERE "
      "instance = $1 AND artifact_hash = ANY($2) ORDER BY artifact_hash, path COLLATE \"C\"",
      [](const Row& row, ArtifactRecord& artifact) {
        artifact.files.push_back({row.get<std::string>("path"), row.get<std::string>("media_type"),
                                  digestAt(row, "hash", "size")});
      });
}

Status readBundles(Connection& connection, const Records& records) {
  return records.each(
      connection,
      "SELECT * FROM statements WHERE instance = $1 AND artifact_hash = ANY($2) "
      "ORDER BY artifact_hash, recorded, predicate_type COLLATE \"C\", payload_hash",
      [](const Row& row, ArtifactRecord& artifact) {
        artifact.bundles.push_back({hashAt(row, "payload_hash"), digestAt(row, "bundle_hash", "bundle_size"),
                                    row.get<std::string>("predicate_type"), row.get<std::string>("job_id"),
                                    row.get<TimePoint>("recorded")});
      });
}

Status readBuilders(Connection& connection, const Records& records) {
  return records.each(
      connection,
      "SELECT DISTINCT artifact_hash, worker, operator FROM builders WHERE instance = $1 AND "
      "artifact_hash = ANY($2) ORDER BY artifact_hash, worker, operator",
      [](const Row& row, ArtifactRecord& artifact) {
        artifact.builders.push_back({row.get<std::string>("worker"), row.get<std::string>("operator")});
      });
}

// The first jobs, so many of each. Ids begin with the time of submission, so the index has them in order.
Status readJobs(Connection& connection, const Records& records, int most) {
  return records.each(
      connection,
      fmt::format("SELECT a.artifact_hash, j.job_id FROM unnest($2::bytea[]) a(artifact_hash), "
                  "LATERAL (SELECT job_id FROM job_targets WHERE instance = $1 AND artifact_hash = "
                  "a.artifact_hash ORDER BY job_id LIMIT {}) j ORDER BY a.artifact_hash, j.job_id",
                  most),
      [](const Row& row, ArtifactRecord& artifact) {
        artifact.jobs.push_back(row.get<std::string>("job_id"));
      });
}

// Of the first jobs alone: an artifact that the cache hands out has any number of them.
Status readModels(Connection& connection, const Records& records) {
  return records.each(
      connection,
      "SELECT a.artifact_hash, m.model_name FROM unnest($2::bytea[]) a(artifact_hash), LATERAL (SELECT "
      "DISTINCT j.model_name FROM (SELECT job_id FROM job_targets WHERE instance = $1 AND artifact_hash = "
      "a.artifact_hash ORDER BY job_id LIMIT 64) t JOIN jobs j ON j.instance = $1 AND j.id = t.job_id WHERE "
      "j.model_name <> '' ORDER BY j.model_name LIMIT 8) m ORDER BY a.artifact_hash, m.model_name",
      [](const Row& row, ArtifactRecord& artifact) {
        artifact.models.push_back(row.get<std::string>("model_name"));
      });
}

// All that a list shows. `jobs`: how many of each artifact.
Status fill(Connection& connection, const Records& records, int jobs) {
  KILN_TRY(readBundles(connection, records));
  KILN_TRY(readBuilders(connection, records));
  KILN_TRY(readJobs(connection, records, jobs));
  return readModels(connection, records);
}

}  // namespace

ArtifactRecord artifactAt(const Row& row) {
  ArtifactRecord out;
  out.instance = row.get<std::string>("instance");
  out.digest = digestAt(row, "hash", "size");
  out.config = digestAt(row, "config_hash", "config_size");
  out.target = row.get<std::string>("target");
  out.toolchainLabel = row.get<std::string>("toolchain_label");
  out.toolchainDigest = hashAt(row, "toolchain_hash");
  out.fixtures = optionalDigestAt(row, "fixtures_hash", "fixtures_size");
  out.published = row.get<TimePoint>("published");
  return out;
}

Result<std::optional<ArtifactRecord>> findArtifact(Connection& connection, const std::string& instance,
                                                   const Digest& artifact) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT * FROM artifacts WHERE instance = $1 AND hash = $2",
                                            {instance, hashParam(artifact)}));
  return rows.first(artifactAt);
}

Status loadEvidence(Connection& connection, ArtifactRecord& artifact) {
  const Records one(artifact.instance, {&artifact, 1});
  KILN_TRY(readFiles(connection, one));
  return readBundles(connection, one);
}

Result<std::optional<ArtifactRecord>> loadArtifact(Connection& connection, const std::string& instance,
                                                   const Digest& artifact) {
  KILN_ASSIGN(auto found, findArtifact(connection, instance, artifact));
  if (!found) return found;
  const Records one(instance, {&*found, 1});
  KILN_TRY(readFiles(connection, one));
  KILN_TRY(fill(connection, one, kMaxJobs));
  return found;
}

Result<std::vector<ArtifactRecord>> listArtifacts(Connection& connection, const std::string& instance,
                                                  int limit, const std::optional<Digest>& before) {
  const std::string begin = "SELECT * FROM artifacts WHERE instance = $1 ";
  // Of the same microsecond the index has the lower hash first.
  const std::string behind =
      "AND published <= (SELECT published FROM artifacts WHERE instance = $1 AND hash = $3) AND "
      "(hash > $3 OR published < (SELECT published FROM artifacts WHERE instance = $1 AND hash = $3)) ";
  const std::string end = "ORDER BY published DESC, hash LIMIT $2";
  KILN_ASSIGN(Rows rows, before
                             ? connection.execute(begin + behind + end, {instance, limit, hashParam(*before)})
                             : connection.execute(begin + end, {instance, limit}));
  KILN_ASSIGN(std::vector<ArtifactRecord> page, rows.map(artifactAt));
  KILN_TRY(fill(connection, Records(instance, page), kListedJobs));
  return page;
}

Result<std::vector<ArtifactRecord>> listArtifactsByHash(Connection& connection, const std::string& instance,
                                                        const Digest& after, int limit) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute("SELECT * FROM artifacts WHERE instance = $1 AND hash > $2 ORDER BY hash LIMIT $3",
                         {instance, hashParam(after), limit}));
  KILN_ASSIGN(std::vector<ArtifactRecord> page, rows.map(artifactAt));
  KILN_TRY(readFiles(connection, Records(instance, page)));
  return page;
}

}  // namespace kiln::index
