#include "storage/index/artifacts/referrer_repository.h"

#include "manifest/artifact/oci_layout.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

namespace {

constexpr int kBatch = 1000;

struct Unnamed {
  std::string instance;
  Digest payload, artifact, bundle;
};

Unnamed unnamedAt(const Row& row) {
  return {row.get<std::string>("instance"), hashAt(row, "payload_hash"),
          digestAt(row, "artifact_hash", "size"), digestAt(row, "bundle_hash", "bundle_size")};
}

Referrers pairAt(const Row& row) {
  return {digestAt(row, "artifact_hash", "size"), {digestAt(row, "bundle_hash", "bundle_size")}};
}

}  // namespace

Status nameReferrers(Connection& connection) {
  for (;;) {
    KILN_ASSIGN(Rows rows, connection.execute(
                               "SELECT s.instance, s.payload_hash, s.artifact_hash, a.size, s.bundle_hash, "
                               "s.bundle_size FROM statements s JOIN artifacts a ON a.instance = s.instance "
                               "AND a.hash = s.artifact_hash WHERE s.referrer_hash IS NULL LIMIT $1",
                               {kBatch}));
    KILN_ASSIGN(const auto found, rows.map(unnamedAt));
    for (const Unnamed& one : found) {
      KILN_ASSIGN(const std::string manifest, makeBundleReferrer(one.artifact, one.bundle));
      KILN_TRY(connection.execute(
          "UPDATE statements SET referrer_hash = $3 WHERE instance = $1 AND payload_hash = $2",
          {one.instance, hashParam(one.payload), hashParam(digestOf(manifest))}));
    }
    if (found.size() < kBatch) return {};
  }
}

Result<std::optional<Referrers>> loadReferrers(Connection& connection, const std::string& instance,
                                               const Digest& artifact) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT hash, size FROM artifacts WHERE instance = $1 AND hash = $2",
                                 {instance, hashParam(artifact)}));
  KILN_ASSIGN(const auto known, rows.first([](const Row& row) { return digestAt(row, "hash", "size"); }));
  if (!known) return std::optional<Referrers>();
  KILN_ASSIGN(Rows bundles,
              connection.execute("SELECT bundle_hash, bundle_size FROM statements WHERE instance = $1 AND "
                                 "artifact_hash = $2 ORDER BY recorded, payload_hash",
                                 {instance, hashParam(artifact)}));
  KILN_ASSIGN(auto list,
              bundles.map([](const Row& row) { return digestAt(row, "bundle_hash", "bundle_size"); }));
  return std::optional(Referrers{*known, std::move(list)});
}

Result<std::optional<Referrers>> findReferrer(Connection& connection, const std::string& instance,
                                              const Digest& hash) {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT s.artifact_hash, a.size, s.bundle_hash, s.bundle_size FROM statements s "
                             "JOIN artifacts a ON a.instance = s.instance AND a.hash = s.artifact_hash "
                             "WHERE s.instance = $1 AND s.referrer_hash = $2 LIMIT 1",
                             {instance, hashParam(hash)}));
  return rows.first(pairAt);
}

}  // namespace kiln::index
