#include "storage/index/tuning/tuning_repository.h"

#include <map>

#include "storage/index/rows/codec.h"

namespace kiln::index {

using postgres::Connection;
using postgres::Row;

namespace {

// Of one kernel: the records of one worker, and of all together. The first bound is so small that nobody can
// drive out what others have measured.
constexpr int kPerWorker = 2, kPerKernel = 32;

constexpr char kDropOldest[] = R"(
WITH ranked AS (
  SELECT h.signature, h.record_hash, r.recorded, row_number() OVER (
    PARTITION BY h.signature, r.operator, r.worker ORDER BY r.recorded DESC, r.record_hash) AS place
  FROM tuning_history h JOIN tuning_records r ON r.instance = h.instance AND r.record_hash = h.record_hash
  WHERE h.instance = $1 AND h.target = $2 AND h.signature = ANY($3::text[])
), kept AS (
  SELECT signature, record_hash, row_number() OVER (
    PARTITION BY signature ORDER BY recorded DESC, record_hash) AS place
  FROM ranked WHERE place <= $4
)
DELETE FROM tuning_history h WHERE h.instance = $1 AND h.target = $2 AND h.signature = ANY($3::text[])
  AND NOT EXISTS (SELECT FROM kept k
    WHERE k.signature = h.signature AND k.record_hash = h.record_hash AND k.place <= $5))";

}  // namespace

Result<std::optional<Digest>> findTuningRecord(Connection& connection, const std::string& instance,
                                               const Digest& record) {
  KILN_ASSIGN(auto rows,
              connection.execute("SELECT record_hash, record_size FROM tuning_records WHERE instance "
                                 "= $1 AND record_hash = $2",
                                 {instance, hashParam(record)}));
  if (rows.size() == 0) return std::optional<Digest>();
  return std::optional(digestAt(rows[0], "record_hash", "record_size"));
}

Status insertTuningRecord(Connection& connection, const TuningRecordRow& record) {
  KILN_TRY(connection.execute(
      "INSERT INTO tuning_records (instance, record_hash, record_size, target, payload_hash, bundle_hash, "
      "bundle_size, job_id, recorded, worker, operator) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
      "$11) "
      "ON CONFLICT DO NOTHING",
      {record.instance, hashParam(record.record), record.record.size, record.target,
       hashParam(record.payload), hashParam(record.bundle), record.bundle.size, record.jobId, record.recorded,
       record.worker, record.operatorName}));
  return {};
}

Status putTuningEntries(Connection& connection, const TuningRecordRow& record,
                        const std::vector<TuningEntryRow>& entries) {
  std::vector<std::string> signatures, texts;
  for (const TuningEntryRow& entry : entries) {
    signatures.push_back(entry.signature);
    texts.push_back(entry.entry);
  }
  KILN_TRY(connection.execute(
      "INSERT INTO tuning_history (instance, target, signature, entry, record_hash) SELECT $1, $2, "
      "signature, entry, $5 FROM unnest($3::text[], $4::text[]) AS g(signature, entry) ON CONFLICT DO "
      "NOTHING",
      {record.instance, record.target, signatures, texts, hashParam(record.record)}));
  // For the release before.
  KILN_TRY(connection.execute(
      "INSERT INTO tuning_entries (instance, target, signature, entry, record_hash) SELECT $1, $2, "
      "signature, "
      "entry, $5 FROM unnest($3::text[], $4::text[]) AS g(signature, entry) ON CONFLICT (instance, target, "
      "signature) DO UPDATE SET entry = EXCLUDED.entry, record_hash = EXCLUDED.record_hash WHERE (SELECT "
      "recorded FROM tuning_records r WHERE r.instance = $1 AND r.record_hash = tuning_entries.record_hash) "
      "<= (SELECT recorded FROM tuning_records r WHERE r.instance = $1 AND r.record_hash = $5)",
      {record.instance, record.target, signatures, texts, hashParam(record.record)}));
  KILN_TRY(
      connection.execute(kDropOldest, {record.instance, record.target, signatures, kPerWorker, kPerKernel}));
  return {};
}

Result<std::vector<Digest>> listTuningRecords(Connection& connection, const std::string& instance,
                                              RecordsBy by, const std::string& name) {
  const std::string column = by == RecordsBy::kWorker ? "worker" : "operator";
  KILN_ASSIGN(auto rows, connection.execute("SELECT record_hash, record_size FROM tuning_records WHERE "
                                            "instance = $1 AND " +
                                                column + " = $2 ORDER BY record_hash",
                                            {instance, name}));
  return rows.map([](const Row& row) { return digestAt(row, "record_hash", "record_size"); });
}

Result<std::vector<IndexedTuning>> listIndexedTuning(Connection& connection, const std::string& instance,
                                                     const Digest& after, int limit) {
  KILN_ASSIGN(auto rows,
              connection.execute("SELECT * FROM tuning_records WHERE instance = $1 AND record_hash > $2 "
                                 "ORDER BY record_hash LIMIT $3",
                                 {instance, hashParam(after), limit}));
  KILN_ASSIGN(auto out, rows.map([](const Row& row) {
    IndexedTuning tuning;
    tuning.record = {row.get<std::string>("instance"),
                     digestAt(row, "record_hash", "record_size"),
                     row.get<std::string>("target"),
                     hashAt(row, "payload_hash"),
                     digestAt(row, "bundle_hash", "bundle_size"),
                     row.get<std::string>("worker"),
                     row.get<std::string>("operator"),
                     row.get<std::string>("job_id"),
                     row.get<TimePoint>("recorded")};
    return tuning;
  }));
  std::map<Digest, IndexedTuning*> byRecord;
  std::vector<Digest> records;
  for (IndexedTuning& tuning : out) {
    records.push_back({tuning.record.record.hash, 0});
    byRecord[records.back()] = &tuning;
  }
  KILN_ASSIGN(auto entries,
              connection.execute("SELECT target, signature, entry, record_hash FROM tuning_history WHERE "
                                 "instance = $1 AND record_hash = ANY($2::bytea[]) UNION SELECT target, "
                                 "signature, entry, record_hash FROM tuning_entries WHERE instance = $1 AND "
                                 "record_hash = ANY($2::bytea[]) ORDER BY target, signature",
                                 {instance, hashesParam(records)}));
  for (int i = 0; i < entries.size(); ++i) {
    const Row row = entries[i];
    if (const auto at = byRecord.find(hashAt(row, "record_hash")); at != byRecord.end())
      at->second->entries.push_back({row.get<std::string>("target"),
                                     {row.get<std::string>("signature"), row.get<std::string>("entry")}});
  }
  KILN_TRY(entries.status());
  return out;
}

Result<std::vector<Digest>> listTunings(Connection& connection, const std::string& instance, int limit) {
  KILN_ASSIGN(auto rows,
              connection.execute("SELECT DISTINCT hash, size FROM materials WHERE instance = $1 AND "
                                 "name = 'input/tuning.json' ORDER BY hash LIMIT $2",
                                 {instance, limit}));
  return rows.map([](const Row& row) { return digestAt(row, "hash", "size"); });
}

Result<std::vector<KnownKernel>> findTuningEntries(Connection& connection, const std::string& instance,
                                                   const std::string& target,
                                                   const std::vector<std::string>& signatures) {
  KILN_ASSIGN(
      auto rows,
      connection.execute(
          "SELECT e.signature, e.entry, r.* FROM tuning_history e JOIN tuning_records r ON r.instance = "
          "e.instance AND r.record_hash = e.record_hash WHERE e.instance = $1 AND e.target = $2 AND "
          "e.signature = ANY($3::text[]) ORDER BY e.signature COLLATE \"C\", r.recorded DESC, "
          "r.record_hash",
          {instance, target, signatures}));
  return rows.map([&](const Row& row) {
    KnownKernel known{{row.get<std::string>("signature"), row.get<std::string>("entry")}, {}};
    known.record.instance = instance;
    known.record.record = digestAt(row, "record_hash", "record_size");
    known.record.target = target;
    known.record.payload = hashAt(row, "payload_hash");
    known.record.worker = row.get<std::string>("worker");
    known.record.operatorName = row.get<std::string>("operator");
    known.record.recorded = row.get<TimePoint>("recorded");
    return known;
  });
}

}  // namespace kiln::index
