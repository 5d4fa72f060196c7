#include "storage/index/log/log_repository.h"

#include <algorithm>

#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

constexpr char kSelect[] =
    "SELECT s.payload, s.leaf, s.log_index, s.tree_size, s.proof, c.root, c.note FROM signatures s "
    "LEFT JOIN log_checkpoints c ON c.size = s.tree_size ";

LogHash rootAt(const Row& row) {
  return hashAt(row, "root").hash;
}

LogCheckpoint checkpointAt(const Row& row) {
  return {row.get<std::uint64_t>("size"), rootAt(row), row.get<std::string>("note")};
}

std::vector<std::uint8_t> bytesOf(std::string_view text) {
  return {text.begin(), text.end()};
}

SignatureRecord signatureAt(const Row& row) {
  SignatureRecord out;
  if (!row.isNull("payload")) out.payload = bytesAt(row, "payload");
  out.leaf = bytesAt(row, "leaf");
  if (row.isNull("tree_size")) return out;
  LogInclusion inclusion{row.get<std::uint64_t>("log_index"),
                         row.get<std::uint64_t>("tree_size"),
                         rootAt(row),
                         {},
                         row.get<std::string>("note")};
  const std::string proof = bytesAt(row, "proof");
  for (std::size_t at = 0; at + sizeof(LogHash) <= proof.size(); at += sizeof(LogHash))
    std::copy_n(proof.begin() + static_cast<std::ptrdiff_t>(at), sizeof(LogHash),
                inclusion.proof.emplace_back().begin());
  out.inclusion = std::move(inclusion);
  return out;
}

// A row whose checkpoint is gone would else read as one with a NULL in it.
Result<std::optional<SignatureRecord>> onlySignature(const Rows& rows) {
  if (rows.size() > 0 && !rows[0].isNull("tree_size") && rows[0].isNull("root"))
    return fail(Code::kDataLoss, "the database has lost the log's checkpoint of " +
                                     std::to_string(rows[0].get<std::uint64_t>("tree_size")) +
                                     " entries, which covers what was signed; restore it from a backup");
  return rows.first(signatureAt);
}

Result<LogState> loadLog(Connection& connection, const char* lock) {
  KILN_ASSIGN(Rows rows, connection.execute(std::string("SELECT l.origin, l.epoch, l.size, c.root, c.note "
                                                        "FROM log l JOIN log_checkpoints c USING (size)") +
                                            lock));
  KILN_ASSIGN(auto state, rows.first([](const Row& row) {
    return LogState{row.get<std::string>("origin"), row.get<std::uint64_t>("epoch"),
                    row.get<std::uint64_t>("size"), rootAt(row), row.get<std::string>("note")};
  }));
  if (!state) return fail(Code::kInternal, "the log was not opened");
  return *state;
}

Result<LogState> lockLog(Connection& connection, std::uint64_t epoch) {
  KILN_ASSIGN(LogState state, loadLog(connection, " FOR UPDATE OF l"));
  if (state.epoch != epoch)
    return fail(Code::kFailedPrecondition, "another sequencer has opened the log (epoch " +
                                               std::to_string(state.epoch) + ", ours is " +
                                               std::to_string(epoch) + ")");
  return state;
}

// Whether a leaf waits for its place, or one that has it for its checkpoint. Locks nothing: a lock is written
// to the disk, once a second by a log that has nothing to do.
Result<bool> doesAnyWait(Connection& connection, std::uint64_t size) {
  KILN_ASSIGN(Rows rows,
              connection.execute("(SELECT 1 FROM signatures WHERE log_index IS NULL LIMIT 1) UNION "
                                 "ALL (SELECT 1 FROM signatures WHERE log_index >= $1 LIMIT 1)",
                                 {size}));
  return !rows.empty();
}

Result<std::vector<PlacedLeaf>> placedFrom(Connection& connection, std::uint64_t size) {
  // A log may be newer than the database: without a column of its own, `trace` is the one outside.
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT placed.* FROM (SELECT ''::text AS trace) AS absent, LATERAL (SELECT "
                                 "log_index, leaf, signed_at, trace FROM signatures WHERE log_index >= $1) "
                                 "AS placed ORDER BY log_index",
                                 {size}));
  return rows.map([](const Row& row) {
    return PlacedLeaf{row.get<std::uint64_t>("log_index"), bytesAt(row, "leaf"),
                      row.get<TimePoint>("signed_at"), row.get<std::string>("trace")};
  });
}

}  // namespace

Result<std::optional<SignatureRecord>> findSignature(Connection& connection, const Digest& logDigest) {
  KILN_ASSIGN(Rows rows,
              connection.execute(std::string(kSelect) + "WHERE s.log_digest = $1", {hashParam(logDigest)}));
  return onlySignature(rows);
}

Result<std::optional<SignatureRecord>> findSignatureOfPayload(Connection& connection, const Digest& payload) {
  KILN_ASSIGN(Rows rows,
              connection.execute(std::string(kSelect) + "WHERE s.payload_hash = $1", {hashParam(payload)}));
  return onlySignature(rows);
}

Result<std::optional<std::string>> findSignedPayload(Connection& connection, const Digest& payload) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT payload FROM signatures WHERE payload_hash = $1",
                                            {hashParam(payload)}));
  return rows.first([](const Row& row) { return bytesAt(row, "payload"); });
}

Result<SignatureRecord> addSignature(Connection& connection, const NewSignature& signature) {
  std::vector<postgres::Param> values{hashParam(signature.logDigest),
                                      hashParam(digestOf(signature.payload)),
                                      signature.instance,
                                      asBytes(signature.payload),
                                      asBytes(signature.leaf),
                                      signature.signedAt};
  // A signer may be newer than the database: the column `trace` is named where it is needed alone.
  const bool traced = !signature.trace.empty();
  if (traced) values.emplace_back(signature.trace);
  // Two signers may put the same signature at the same moment. No column is named in ON CONFLICT: where one
  // is, the other unique column answers with an error.
  KILN_ASSIGN(
      Rows added,
      connection.execute(
          std::string(
              "INSERT INTO signatures (log_digest, payload_hash, instance, payload, leaf, signed_at") +
              (traced ? ", trace) VALUES ($1, $2, $3, $4, $5, $6, $7)"
                      : ") VALUES ($1, $2, $3, $4, $5, $6)") +
              " ON CONFLICT DO NOTHING",
          values));
  if (added.affected() == 0) {  // it may be known from the log's tiles, without its payload
    KILN_TRY(
        connection.execute("UPDATE signatures SET payload_hash = $2, instance = $3, payload = $4 "
                           "WHERE log_digest = $1 AND payload IS NULL",
                           {values[0], values[1], values[2], values[3]}));
  }
  KILN_ASSIGN(auto row, findSignature(connection, signature.logDigest));
  if (!row) return fail(Code::kInternal, "a signature is not where it was put");
  return *row;
}

Result<LogState> openLog(Connection& connection, const std::string& origin, const LogCheckpoint& empty) {
  return connection.transact([&](Connection& c) -> Result<LogState> {
    KILN_TRY(
        c.execute("INSERT INTO log_checkpoints (size, root, note) VALUES (0, $1, $2) "
                  "ON CONFLICT DO NOTHING",
                  {Bytes(empty.root), empty.note}));
    KILN_TRY(
        c.execute("INSERT INTO log (origin, epoch, size) VALUES ($1, 1, 0) "
                  "ON CONFLICT (only_row) DO UPDATE SET epoch = log.epoch + 1",
                  {origin}));
    KILN_ASSIGN(LogState state, loadLog(c, ""));
    if (state.origin != origin)
      return fail(Code::kFailedPrecondition,
                  "the database holds the log " + state.origin + ", not " + origin + "; use that log's key");
    return state;
  });
}

Result<std::vector<PlacedLeaf>> placeLeaves(Connection& connection, std::uint64_t epoch,
                                            std::uint64_t limit) {
  KILN_ASSIGN(const LogState seen, loadLog(connection, ""));
  if (seen.epoch == epoch) {
    KILN_ASSIGN(const bool waits, doesAnyWait(connection, seen.size));
    if (!waits) return std::vector<PlacedLeaf>();
  }
  KILN_ASSIGN(LogState state, lockLog(connection, epoch));
  KILN_ASSIGN(std::vector<PlacedLeaf> placed, placedFrom(connection, state.size));
  if (!placed.empty()) return placed;
  KILN_TRY(connection.execute(
      "UPDATE signatures s SET log_index = $1::bigint + n.number - 1 FROM (SELECT log_digest, "
      "row_number() OVER (ORDER BY intake) AS number FROM (SELECT log_digest, intake FROM signatures "
      "WHERE log_index IS NULL ORDER BY intake LIMIT $2) AS waiting) AS n WHERE s.log_digest = n.log_digest",
      {state.size, limit}));
  return placedFrom(connection, state.size);
}

Result<std::uint64_t> countPlaced(Connection& connection, std::uint64_t size) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT count(*) AS placed FROM signatures WHERE log_index >= $1", {size}));
  KILN_ASSIGN(auto placed, rows.first([](const Row& row) { return row.get<std::uint64_t>("placed"); }));
  return placed.value_or(0);
}

Status commitCheckpoint(Connection& connection, std::uint64_t epoch, std::uint64_t from,
                        const LogCheckpoint& checkpoint, const std::vector<std::vector<LogHash>>& proofs) {
  KILN_ASSIGN(LogState state, lockLog(connection, epoch));
  if (state.size != from)
    return fail(Code::kFailedPrecondition, "the log has " + std::to_string(state.size) +
                                               " leaves, the sequencer has seen " + std::to_string(from));
  KILN_TRY(connection.execute("INSERT INTO log_checkpoints (size, root, note) VALUES ($1, $2, $3)",
                              {checkpoint.size, Bytes(checkpoint.root), checkpoint.note}));
  std::vector<std::int64_t> indexes;
  std::vector<std::vector<std::uint8_t>> bytes;
  for (const std::vector<LogHash>& proof : proofs) {
    indexes.push_back(static_cast<std::int64_t>(from + indexes.size()));
    auto& one = bytes.emplace_back();
    for (const LogHash& hash : proof) one.insert(one.end(), hash.begin(), hash.end());
  }
  KILN_ASSIGN(Rows covered, connection.execute("UPDATE signatures s SET tree_size = $1, proof = p.proof FROM "
                                               "unnest($2::bigint[], $3::bytea[]) AS p (number, proof) "
                                               "WHERE s.log_index = p.number",
                                               {checkpoint.size, indexes, bytes}));
  if (covered.affected() != static_cast<std::int64_t>(checkpoint.size - from))
    return fail(Code::kInternal, "a checkpoint must cover every leaf that it adds");
  KILN_TRY(connection.execute("UPDATE log SET size = $1 WHERE epoch = $2 AND size = $3",
                              {checkpoint.size, epoch, from}));
  return {};
}

Status adoptLeaves(Connection& connection, const std::vector<AdoptedLeaf>& leaves, TimePoint now) {
  std::vector<std::vector<std::uint8_t>> digests, bytes;
  std::vector<std::int64_t> indexes;
  for (const AdoptedLeaf& one : leaves) {
    digests.emplace_back(one.logDigest.hash.begin(), one.logDigest.hash.end());
    bytes.push_back(bytesOf(one.placed.leaf));
    indexes.push_back(static_cast<std::int64_t>(one.placed.index));
  }
  auto rows = connection.execute(
      "INSERT INTO signatures AS s (log_digest, leaf, log_index, signed_at) SELECT d, l, i, $4::timestamptz "
      "FROM "
      "unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS n (d, l, i) ON CONFLICT (log_digest) DO UPDATE "
      "SET leaf = excluded.leaf, log_index = excluded.log_index "
      "WHERE s.log_index IS NULL OR (s.log_index = excluded.log_index AND s.leaf = excluded.leaf)",
      {digests, bytes, indexes, now});
  if (!rows && rows.error().code != Code::kAlreadyExists) return fail(rows.error());
  if (!rows || rows->affected() != static_cast<std::int64_t>(leaves.size()))
    return fail(Code::kDataLoss, "the database has other signatures at places that the log's tiles fill");
  return {};
}

Result<std::optional<LogHash>> checkpointRoot(Connection& connection, std::uint64_t size) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT root FROM log_checkpoints WHERE size = $1", {size}));
  return rows.first(rootAt);
}

Result<std::vector<LogCheckpoint>> checkpointsOf(Connection& connection,
                                                 const std::vector<std::uint64_t>& sizes) {
  const std::vector<std::int64_t> wanted(sizes.begin(), sizes.end());
  KILN_ASSIGN(Rows rows, connection.execute("SELECT size, root, note FROM log_checkpoints WHERE size = "
                                            "ANY($1::bigint[]) ORDER BY size",
                                            {wanted}));
  return rows.map(checkpointAt);
}

Result<std::optional<LogRow>> findLog(Connection& connection) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT origin, size FROM log"));
  return rows.first(
      [](const Row& row) { return LogRow{row.get<std::string>("origin"), row.get<std::uint64_t>("size")}; });
}

Result<std::optional<LogCheckpoint>> newestCheckpoint(Connection& connection) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT size, root, note FROM log JOIN log_checkpoints USING (size)"));
  return rows.first(checkpointAt);
}

Result<std::vector<std::string>> readLeaves(Connection& connection, std::uint64_t begin, std::uint64_t end) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT leaf FROM signatures WHERE log_index >= $1 AND "
                                            "log_index < $2 ORDER BY log_index",
                                            {begin, end}));
  KILN_ASSIGN(std::vector<std::string> leaves, rows.map([](const Row& row) { return bytesAt(row, "leaf"); }));
  if (leaves.size() != end - begin) return fail(Code::kDataLoss, "the database lacks leaves of the log");
  return leaves;
}

}  // namespace kiln::index
