#include "storage/index/reapi/client_results.h"

#include "storage/index/rows/codec.h"

namespace kiln::index {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

Status putClientResult(Connection& connection, const ClientResult& result) {
  KILN_TRY(connection.execute(
      "INSERT INTO client_results (instance, action_hash, action_size, result, writer, written, used) VALUES "
      "($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (instance, action_hash) DO UPDATE SET action_size = "
      "EXCLUDED.action_size, result = EXCLUDED.result, writer = EXCLUDED.writer, written = "
      "EXCLUDED.written, used = EXCLUDED.used",
      {result.instance, hashParam(result.action), result.action.size, asBytes(result.result), result.writer,
       result.written}));
  return {};
}

Result<std::optional<ClientResult>> clientResult(Connection& connection, const std::string& instance,
                                                 const Digest& action) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT * FROM client_results WHERE instance = $1 AND action_hash = $2 AND "
                                 "action_size = $3",
                                 {instance, hashParam(action), action.size}));
  return rows.first([](const Row& row) {
    return ClientResult{row.get<std::string>("instance"), digestAt(row, "action_hash", "action_size"),
                        bytesAt(row, "result"), row.get<std::string>("writer"),
                        row.get<TimePoint>("written")};
  });
}

Status noteUse(Connection& connection, const std::string& instance, const Digest& action, TimePoint now) {
  KILN_TRY(connection.execute(
      "UPDATE client_results SET used = $3 WHERE instance = $1 AND action_hash = $2 AND used < $4",
      {instance, hashParam(action), now, now - std::chrono::hours(24)}));
  return {};
}

Result<std::int64_t> dropClientResults(Connection& connection, TimePoint unusedSince) {
  KILN_ASSIGN(Rows rows, connection.execute("DELETE FROM client_results WHERE used < $1", {unusedSince}));
  return rows.affected();
}

}  // namespace kiln::index
