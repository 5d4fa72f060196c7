// What sweeps and scrubs ask of the references.
#include <algorithm>

#include "storage/index/blobs/blob_references.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;
using storage::PlacedBlob;

constexpr char kList[] =
    "WITH page AS (SELECT hash, size, generation, begun FROM blobs WHERE begun IS NOT NULL AND "
    "(hash, size) > ($1, $2) ORDER BY hash, size LIMIT $3) "
    "SELECT p.hash, p.size, p.generation, p.begun, r.instance, r.promised, "
    "r.generation = p.generation AS counts FROM page p "
    "LEFT JOIN blob_references r ON r.hash = p.hash AND r.size = p.size "
    "ORDER BY p.hash, p.size, r.instance";
// Whoever adds a reference locks the blob first and then the reference, so this does, too.
constexpr char kLock[] =
    "SELECT FROM blobs WHERE (hash, size) IN (SELECT * FROM unnest($1::bytea[], $2::bigint[])) "
    "ORDER BY hash, size FOR UPDATE";
constexpr char kRelease[] =
    "DELETE FROM blob_references r USING unnest($1::bytea[], $2::bigint[], $3::text[]) AS n (hash, size, "
    "instance) WHERE r.instance = n.instance AND r.hash = n.hash AND r.size = n.size AND r.promised < $4";
// What nobody refers to any more, with the generation that it had.
constexpr char kCondemn[] =
    "WITH gone AS (UPDATE blobs b SET generation = b.generation + 1, begun = NULL FROM "
    "unnest($1::bytea[], $2::bigint[]) AS n (hash, size) WHERE b.hash = n.hash AND b.size = n.size AND "
    "b.begun < $3 AND (SELECT count(*) FROM blob_references r WHERE r.hash = b.hash AND r.size = b.size) = 0 "
    "RETURNING b.hash, b.size, b.generation - 1 AS generation) "
    "INSERT INTO condemned_objects (hash, size, generation, due, is_last) "
    "SELECT hash, size, generation, $4::timestamptz, false FROM gone RETURNING hash, size";

Result<std::vector<Digest>> digestsOf(const Rows& rows) {
  return rows.map([](const Row& row) { return digestAt(row, "hash", "size"); });
}

struct Listed {
  PlacedBlob blob;
  TimePoint begun;
  std::optional<std::string> instance;
  std::optional<TimePoint> promised;
  std::optional<bool> counts;
};

struct Keys {
  std::vector<std::vector<std::uint8_t>> hashes;
  std::vector<std::int64_t> sizes, generations;
  void add(const Digest& digest, std::uint32_t generation = 0) {
    hashes.emplace_back(digest.hash.begin(), digest.hash.end());
    sizes.push_back(static_cast<std::int64_t>(digest.size));
    generations.push_back(generation);
  }
};

}  // namespace

Result<std::vector<PostgresBlobReferences::HeldBlob>> PostgresBlobReferences::list(
    const std::optional<Digest>& after, std::size_t most) {
  const Digest from = after.value_or(Digest{});
  KILN_ASSIGN(const Rows rows, pool_.execute(kList, {hashParam(from), from.size, most}));
  KILN_ASSIGN(const std::vector<Listed> listed, rows.map([](const Row& row) {
    return Listed{{digestAt(row, "hash", "size"), row.get<std::uint32_t>("generation")},
                  row.get<TimePoint>("begun"),
                  row.get<std::optional<std::string>>("instance"),
                  row.get<std::optional<TimePoint>>("promised"),
                  row.get<std::optional<bool>>("counts")};
  }));
  std::vector<HeldBlob> out;
  for (const Listed& one : listed) {
    if (out.empty() || out.back().blob.digest != one.blob.digest) out.push_back({one.blob, one.begun, {}});
    if (one.instance) out.back().holders.push_back({*one.instance, *one.promised, *one.counts});
  }
  return out;
}

Result<PostgresBlobReferences::Released> PostgresBlobReferences::release(std::span<const Unneeded> blobs,
                                                                         TimePoint oldest, TimePoint now) {
  Keys all, held;
  std::vector<std::string> instances;
  for (const Unneeded& blob : blobs) {
    all.add(blob.digest);
    for (const std::string& instance : blob.instances) {
      held.add(blob.digest);
      instances.push_back(instance);
    }
  }
  return pool_.transact([&](Connection& connection) -> Result<Released> {
    KILN_TRY(connection.execute(kLock, {all.hashes, all.sizes}));
    KILN_ASSIGN(const Rows released,
                connection.execute(kRelease, {held.hashes, held.sizes, instances, oldest}));
    KILN_ASSIGN(const Rows condemned, connection.execute(kCondemn, {all.hashes, all.sizes, oldest, now}));
    KILN_ASSIGN(std::vector<Digest> gone, digestsOf(condemned));
    return Released{static_cast<std::uint64_t>(released.affected()), std::move(gone)};
  });
}

Result<std::vector<PlacedBlob>> PostgresBlobReferences::due(TimePoint now, std::size_t most) {
  KILN_ASSIGN(const Rows rows, pool_.execute("SELECT hash, size, generation FROM condemned_objects WHERE due "
                                             "<= $1 ORDER BY due LIMIT $2",
                                             {now, most}));
  return rows.map([](const Row& row) {
    return PlacedBlob{digestAt(row, "hash", "size"), row.get<std::uint32_t>("generation")};
  });
}

Status PostgresBlobReferences::removed(std::span<const PlacedBlob> objects, TimePoint again) {
  Keys keys;
  for (const PlacedBlob& object : objects) keys.add(object.digest, object.generation);
  return pool_.transact([&](Connection& connection) -> Status {
    constexpr char kThese[] =
        "(hash, size, generation) IN (SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::integer[]))";
    KILN_TRY(connection.execute(std::string("DELETE FROM condemned_objects WHERE is_last AND ") + kThese,
                                {keys.hashes, keys.sizes, keys.generations}));
    KILN_TRY(connection.execute(
        std::string("UPDATE condemned_objects SET due = $4, is_last = true WHERE ") + kThese,
        {keys.hashes, keys.sizes, keys.generations, again}));
    return {};
  });
}

Result<std::optional<Digest>> PostgresBlobReferences::scrubbedTo() {
  KILN_ASSIGN(const Rows rows, pool_.execute("SELECT scrubbed_hash, scrubbed_size FROM blob_store"));
  KILN_ASSIGN(const auto found, rows.first([](const Row& row) {
    return optionalDigestAt(row, "scrubbed_hash", "scrubbed_size");
  }));
  return found.value_or(std::nullopt);
}

Status PostgresBlobReferences::scrubTo(const std::optional<Digest>& digest) {
  KILN_TRY(pool_.execute("UPDATE blob_store SET scrubbed_hash = $1, scrubbed_size = $2",
                         {hashParam(digest), sizeParam(digest)}));
  return {};
}

}  // namespace kiln::index
