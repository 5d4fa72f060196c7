#include "storage/index/audit/known_names.h"

#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Param;
using postgres::Row;
using postgres::Rows;

Result<bool> any(Connection& connection, const char* sql, std::vector<Param> params) {
  KILN_ASSIGN(const Rows rows, connection.execute(sql, params));
  return rows.size() > 0;
}

Result<std::vector<Digest>> hashesIn(Connection& connection, const char* sql, const std::string& instance,
                                     const DigestRange& range) {
  KILN_ASSIGN(const Rows rows,
              connection.execute(sql, {instance, hashParam(range.first), hashParam(range.last), kMaxMeant}));
  return rows.map([](const Row& row) { return hashAt(row, "hash"); });
}

}  // namespace

Result<bool> isInUse(Connection& connection, const std::string& instance) {
  return any(
      connection,
      "SELECT true AS found WHERE EXISTS (SELECT FROM toolchains WHERE instance = $1) OR EXISTS (SELECT "
      "FROM jobs WHERE instance = $1) OR EXISTS (SELECT FROM statements WHERE instance = $1)",
      {instance});
}

Result<bool> isSubmittedBlob(Connection& connection, const std::string& instance, const Digest& blob) {
  return any(connection, "SELECT true AS found FROM sources WHERE instance = $1 AND hash = $2 LIMIT 1",
             {instance, hashParam(blob)});
}

Result<bool> isSubmittedOrigin(Connection& connection, const std::string& instance,
                               const std::string& origin) {
  return any(connection,
             "SELECT true AS found FROM sources WHERE instance = $1 AND ((git_url <> '' AND git_url = $2) OR "
             "(git_commit <> '' AND git_commit = $2) OR (origin_url <> '' AND origin_url = $2) OR "
             "(origin_commit <> '' AND origin_commit = $2)) LIMIT 1",
             {instance, origin});
}

Result<bool> hasSubmitted(Connection& connection, const std::string& instance, const std::string& submitter) {
  return any(
      connection,
      "SELECT true AS found FROM jobs WHERE instance = $1 AND left(submitter, 200) = left($2, 200) AND "
      "submitter = $2 LIMIT 1",
      {instance, submitter});
}

Result<std::vector<Digest>> findInputsIn(Connection& connection, const std::string& instance,
                                         const DigestRange& range) {
  return hashesIn(connection,
                  "SELECT hash FROM materials WHERE instance = $1 AND hash BETWEEN $2 AND $3 AND "
                  "name <> 'toolchain' UNION "
                  "SELECT hash FROM sources WHERE instance = $1 AND hash BETWEEN $2 AND $3 UNION "
                  "SELECT record_hash FROM tuning_records WHERE instance = $1 AND record_hash BETWEEN $2 AND "
                  "$3 ORDER BY 1 LIMIT $4",
                  instance, range);
}

Result<std::vector<Digest>> findPartsIn(Connection& connection, const std::string& instance,
                                        const DigestRange& range) {
  return hashesIn(connection,
                  "SELECT DISTINCT hash FROM toolchain_parts WHERE instance = $1 AND hash BETWEEN $2 AND $3 "
                  "ORDER BY hash LIMIT $4",
                  instance, range);
}

}  // namespace kiln::index
