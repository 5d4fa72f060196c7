#include "storage/index/artifacts/ir_repository.h"

#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

// `condition` is about $2.
Result<std::optional<IrRecord>> load(Connection& connection, const std::string& instance,
                                     const std::string& condition, const Digest& hash) {
  KILN_ASSIGN(const Rows rows,
              connection.execute("SELECT i.artifact_hash, a.size, i.hash, i.payload_hash FROM artifact_irs i "
                                 "JOIN artifacts a ON a.instance = i.instance AND a.hash = i.artifact_hash "
                                 "WHERE i.instance = $1 AND " +
                                     condition + " LIMIT 1",
                                 {instance, hashParam(hash)}));
  KILN_ASSIGN(auto found, rows.first([](const Row& row) {
    return IrRecord{
        digestAt(row, "artifact_hash", "size"), hashAt(row, "hash"), hashAt(row, "payload_hash"), {}};
  }));
  if (!found) return std::optional<IrRecord>();
  KILN_ASSIGN(const Rows files,
              connection.execute("SELECT path, hash, size FROM artifact_ir_files WHERE instance = $1 AND "
                                 "artifact_hash = $2 ORDER BY path COLLATE \"C\"",
                                 {instance, hashParam(found->artifact)}));
  KILN_ASSIGN(found->files, files.map([](const Row& row) {
    return ModelFile{row.get<std::string>("path"), digestAt(row, "hash", "size")};
  }));
  return found;
}

}  // namespace

Status insertIr(Connection& connection, const std::string& instance, const IrRecord& record) {
  KILN_ASSIGN(const Rows rows,
              connection.execute(
                  "INSERT INTO artifact_irs (instance, artifact_hash, hash, payload_hash) "
                  "VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING hash",
                  {instance, hashParam(record.artifact), hashParam(record.ir), hashParam(record.statement)}));
  if (rows.empty()) return {};
  for (const ModelFile& file : record.files)
    KILN_TRY(connection.execute(
        "INSERT INTO artifact_ir_files (instance, artifact_hash, path, hash, size) VALUES ($1, $2, $3, $4, "
        "$5)",
        {instance, hashParam(record.artifact), file.path, hashParam(file.digest), file.digest.size}));
  return {};
}

Result<std::optional<IrRecord>> irOf(Connection& connection, const std::string& instance,
                                     const Digest& artifact) {
  return load(connection, instance, "i.artifact_hash = $2", artifact);
}

Result<std::optional<IrRecord>> findIr(Connection& connection, const std::string& instance,
                                       const Digest& hash) {
  return load(connection, instance, "i.hash = $2", hash);
}

}  // namespace kiln::index
