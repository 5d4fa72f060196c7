#include "storage/index/toolchains/toolchain_parts.h"

#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

}  // namespace

Status insertParts(Connection& connection, const std::string& instance, const Digest& toolchainDigest,
                   const std::vector<PartRecord>& parts) {
  for (const PartRecord& part : parts)
    KILN_TRY(connection.execute(
        "INSERT INTO toolchain_parts (instance, tree_hash, kind, name, version, path, hash, "
        "size) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        {instance, hashParam(toolchainDigest), part.kind, part.name, part.version, part.path,
         hashParam(part.digest), part.digest.size}));
  return {};
}

Result<std::vector<PartRecord>> listParts(Connection& connection, const std::string& instance,
                                          const Digest& toolchainDigest) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT * FROM toolchain_parts WHERE instance = $1 AND tree_hash = $2 "
                                 "ORDER BY kind, name COLLATE \"C\", path COLLATE \"C\"",
                                 {instance, hashParam(toolchainDigest)}));
  return rows.map([](const Row& row) {
    return PartRecord{row.get<std::string>("kind"), row.get<std::string>("name"),
                      row.get<std::string>("version"), row.get<std::string>("path"),
                      digestAt(row, "hash", "size")};
  });
}

Result<std::vector<Digest>> treesWithPart(Connection& connection, const std::string& instance,
                                          const std::string& part, int limit) {
  const auto digest = Digest::parse(part, 0);
  const std::size_t at = part.rfind('@');
  const bool versioned = at != std::string::npos;
  const char* sql =
      digest ? "SELECT DISTINCT tree_hash FROM toolchain_parts WHERE instance = $1 AND hash = $2 LIMIT $3"
      : versioned
          ? "SELECT DISTINCT tree_hash FROM toolchain_parts WHERE instance = $1 AND name = $2 AND version = "
            "$4 "
            "LIMIT $3"
          : "SELECT DISTINCT tree_hash FROM toolchain_parts WHERE instance = $1 AND name = $2 LIMIT $3";
  std::vector<postgres::Param> params{
      instance, digest ? hashParam(*digest) : postgres::Param(part.substr(0, at)), limit + 1};
  if (!digest && versioned) params.emplace_back(part.substr(at + 1));
  KILN_ASSIGN(Rows rows, connection.execute(sql, params));
  return rows.map([](const Row& row) { return hashAt(row, "tree_hash"); });
}

Result<std::vector<std::string>> partNames(Connection& connection, const std::string& instance) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT name FROM toolchain_parts WHERE instance = $1 UNION SELECT "
                                 "name || '@' || version FROM toolchain_parts WHERE instance = $1 "
                                 "LIMIT 10000",
                                 {instance}));
  return rows.map([](const Row& row) { return row.get<std::string>("name"); });
}

Result<std::vector<ToolchainRecord>> listUnreadLocks(Connection& connection) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT a.instance, a.label, a.lock_hash, a.lock_size, t.hash, t.size FROM toolchain_admissions a "
          "JOIN toolchains t ON t.instance = a.instance AND t.label = a.label WHERE a.locked AND NOT EXISTS "
          "(SELECT FROM toolchain_parts p WHERE p.instance = t.instance AND p.tree_hash = t.hash AND "
          "p.kind <> 'component') ORDER BY a.admitted"));
  return rows.map([](const Row& row) {
    ToolchainRecord out;
    out.instance = row.get<std::string>("instance");
    out.label = row.get<std::string>("label");
    out.toolchainDigest = digestAt(row, "hash", "size");
    out.lock = digestAt(row, "lock_hash", "lock_size");
    return out;
  });
}

}  // namespace kiln::index
