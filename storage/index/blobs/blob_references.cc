#include "storage/index/blobs/blob_references.h"

#include <algorithm>

#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Param;
using postgres::Row;
using postgres::Rows;

constexpr std::size_t kMostAtOnce = 1000;
constexpr auto kTouchAfter = std::chrono::seconds(60);

// Columns for unnest().
struct Columns {
  std::vector<std::vector<std::uint8_t>> hashes;
  std::vector<std::int64_t> sizes, generations;

  void add(const Digest& digest, std::uint32_t generation = 0) {
    hashes.emplace_back(digest.hash.begin(), digest.hash.end());
    // A blob that PostgreSQL cannot count is one that nobody has.
    sizes.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(digest.size, INT64_MAX)));
    generations.push_back(generation);
  }
};

Columns columnsOf(std::span<const Digest> digests) {
  Columns out;
  for (const Digest& digest : digests) out.add(digest);
  return out;
}

// Calls `body` with stretches of at most kMostAtOnce.
template <class T, class F>
Status inStretches(std::span<const T> all, F body) {
  while (!all.empty()) {
    const auto some = all.first(std::min(all.size(), kMostAtOnce));
    KILN_TRY(body(some));
    all = all.subspan(some.size());
  }
  return {};
}

// Sorted, so that two transactions lock them in the same order.
constexpr char kBegin[] =
    "INSERT INTO blobs (hash, size, begun) SELECT DISTINCT hash, size, $3::timestamptz FROM "
    "unnest($1::bytea[], $2::bigint[]) AS b (hash, size) ORDER BY hash, size "
    "ON CONFLICT (hash, size) DO UPDATE SET begun = EXCLUDED.begun WHERE blobs.begun IS NULL OR blobs.begun "
    "< $4";
constexpr char kGenerations[] =
    "SELECT b.generation FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS n (hash, size, place) "
    "JOIN blobs b ON b.hash = n.hash AND b.size = n.size ORDER BY n.place";
// Whoever condemns waits for the end of this transaction.
constexpr char kLockBlobs[] =
    "SELECT FROM blobs WHERE (hash, size) IN (SELECT * FROM unnest($1::bytea[], $2::bigint[])) "
    "ORDER BY hash, size FOR SHARE";
constexpr char kAddReferences[] =
    "INSERT INTO blob_references (instance, hash, size, generation, upload, promised) "
    "SELECT DISTINCT ON (n.hash, n.size) $4, n.hash, n.size, n.generation, nextval('blob_uploads'), "
    "$5::timestamptz "
    "FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS n (hash, size, generation) "
    "JOIN blobs b ON b.hash = n.hash AND b.size = n.size AND b.generation = n.generation "
    "ORDER BY n.hash, n.size "
    "ON CONFLICT (instance, hash, size) DO UPDATE SET generation = EXCLUDED.generation, upload = "
    "EXCLUDED.upload, "
    "promised = greatest(blob_references.promised, EXCLUDED.promised)";
constexpr char kWhichCount[] =
    "SELECT b.hash IS NOT NULL AS counts FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) "
    "WITH ORDINALITY AS n (hash, size, generation, place) LEFT JOIN blobs b ON b.hash = n.hash AND "
    "b.size = n.size AND b.generation = n.generation ORDER BY n.place";
constexpr char kFind[] =
    "SELECT b.generation FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS n (hash, size, place) "
    "LEFT JOIN blob_references r ON r.instance = $3 AND r.hash = n.hash AND r.size = n.size "
    "LEFT JOIN blobs b ON b.hash = r.hash AND b.size = r.size AND b.generation = r.generation "
    "ORDER BY n.place";
constexpr char kTouch[] =
    "UPDATE blob_references SET promised = $4 WHERE (instance, hash, size) IN ("
    "SELECT r.instance, r.hash, r.size FROM unnest($1::bytea[], $2::bigint[]) AS n (hash, size) "
    "JOIN blob_references r ON r.instance = $3 AND r.hash = n.hash AND r.size = n.size "
    "WHERE r.promised < $5 ORDER BY r.hash, r.size FOR NO KEY UPDATE OF r)";

}  // namespace

Result<PostgresBlobReferences::Identity> PostgresBlobReferences::identity() {
  return pool_.transact([](Connection& connection) -> Result<Identity> {
    KILN_TRY(connection.execute("INSERT INTO blob_store DEFAULT VALUES ON CONFLICT DO NOTHING"));
    KILN_ASSIGN(const Rows rows,
                connection.execute("SELECT id, EXISTS (SELECT FROM blobs) AS is_used FROM blob_store"));
    KILN_ASSIGN(const auto identity, rows.first([](const Row& row) {
      return Identity{row.get<std::string>("id"), row.get<bool>("is_used")};
    }));
    if (!identity) return fail(Code::kInternal, "the blob store has no identity");
    return *identity;
  });
}

// A row stays for ever once it is there, so that each has its generation.
Result<std::vector<std::uint32_t>> PostgresBlobReferences::begin(std::span<const Digest> digests,
                                                                 TimePoint now) {
  std::vector<std::uint32_t> out;
  KILN_TRY(inStretches(digests, [&](std::span<const Digest> some) -> Status {
    const Columns columns = columnsOf(some);
    KILN_TRY(pool_.execute(kBegin, {columns.hashes, columns.sizes, now, TimePoint(now - kTouchAfter)}));
    KILN_ASSIGN(const Rows rows, pool_.execute(kGenerations, {columns.hashes, columns.sizes}));
    KILN_ASSIGN(const auto read,
                rows.map([](const Row& row) { return row.get<std::uint32_t>("generation"); }));
    out.insert(out.end(), read.begin(), read.end());
    return {};
  }));
  return out;
}

Result<std::vector<bool>> PostgresBlobReferences::add(const std::string& instance,
                                                      std::span<const storage::PlacedBlob> blobs,
                                                      TimePoint now) {
  std::vector<bool> out;
  KILN_TRY(inStretches(blobs, [&](std::span<const storage::PlacedBlob> some) -> Status {
    Columns columns;
    for (const storage::PlacedBlob& blob : some) columns.add(blob.digest, blob.generation);
    const auto added = pool_.transact([&](Connection& connection) -> Result<std::vector<bool>> {
      KILN_TRY(
          connection.execute(kBegin, {columns.hashes, columns.sizes, now, TimePoint(now - kTouchAfter)}));
      KILN_TRY(connection.execute(kLockBlobs, {columns.hashes, columns.sizes}));
      KILN_TRY(connection.execute(kAddReferences,
                                  {columns.hashes, columns.sizes, columns.generations, instance, now}));
      KILN_ASSIGN(const Rows rows,
                  connection.execute(kWhichCount, {columns.hashes, columns.sizes, columns.generations}));
      return rows.map([](const Row& row) { return row.get<bool>("counts"); });
    });
    if (!added) return fail(added.error());
    out.insert(out.end(), added->begin(), added->end());
    return {};
  }));
  return out;
}

Result<std::vector<std::optional<std::uint32_t>>> PostgresBlobReferences::find(
    const std::string& instance, std::span<const Digest> digests, TimePoint now, bool promised) {
  std::vector<std::optional<std::uint32_t>> out;
  KILN_TRY(inStretches(digests, [&](std::span<const Digest> some) -> Status {
    const Columns columns = columnsOf(some);
    // Promised first: what is then found cannot be swept within the grace period.
    if (promised)
      KILN_TRY(pool_.execute(kTouch,
                             {columns.hashes, columns.sizes, instance, now, TimePoint(now - kTouchAfter)}));
    KILN_ASSIGN(const Rows rows, pool_.execute(kFind, {columns.hashes, columns.sizes, instance}));
    KILN_ASSIGN(const auto read,
                rows.map([](const Row& row) { return row.get<std::optional<std::uint32_t>>("generation"); }));
    out.insert(out.end(), read.begin(), read.end());
    return {};
  }));
  return out;
}

Result<PostgresBlobReferences::Standing> PostgresBlobReferences::standing(const Digest& digest) {
  KILN_ASSIGN(
      const Rows rows,
      pool_.execute("SELECT coalesce((SELECT generation FROM blobs WHERE hash = $1 AND size = $2), 0) AS "
                    "generation, coalesce((SELECT max(upload) FROM blob_references WHERE hash = $1 AND "
                    "size = $2), 0) AS uploads",
                    {hashParam(digest), digest.size}));
  KILN_ASSIGN(const auto standing, rows.first([](const Row& row) {
    return Standing{row.get<std::uint32_t>("generation"), row.get<std::int64_t>("uploads")};
  }));
  return standing.value_or(Standing{});
}

// Two statements, so that the second sees the reference of whoever held the row.
Result<bool> PostgresBlobReferences::condemn(const Digest& digest, const Standing& standing, TimePoint now) {
  return pool_.transact([&](Connection& connection) -> Result<bool> {
    const std::vector<std::vector<std::uint8_t>> hash{{digest.hash.begin(), digest.hash.end()}};
    const std::vector<std::int64_t> size{static_cast<std::int64_t>(digest.size)};
    KILN_TRY(connection.execute(kBegin, {hash, size, now, TimePoint(now - kTouchAfter)}));
    KILN_TRY(connection.execute("SELECT FROM blobs WHERE hash = $1 AND size = $2 FOR UPDATE",
                                {hashParam(digest), digest.size}));
    KILN_ASSIGN(
        const Rows rows,
        connection.execute("UPDATE blobs SET generation = generation + 1 WHERE hash = $1 AND size = $2 AND "
                           "generation = $3 AND NOT EXISTS (SELECT FROM blob_references WHERE hash = $1 AND "
                           "size = $2 AND upload > $4)",
                           {hashParam(digest), digest.size, standing.generation, standing.uploads}));
    if (rows.affected() != 1) return false;
    KILN_TRY(connection.execute(
        "INSERT INTO condemned_objects (hash, size, generation, due, is_last) VALUES ($1, $2, $3, $4, true)",
        {hashParam(digest), digest.size, standing.generation, TimePoint(now + kKeepCorrupt)}));
    return true;
  });
}

}  // namespace kiln::index
