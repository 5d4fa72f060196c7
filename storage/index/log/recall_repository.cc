#include "storage/index/log/recall_repository.h"

namespace kiln::index {

Status addRecalls(postgres::Connection& connection, const RecallsRecord& recalls) {
  KILN_TRY(connection.execute("INSERT INTO recalls VALUES ($1, $2, $3, $4)",
                              {recalls.version, recalls.document, recalls.root, recalls.published}));
  return {};
}

Result<std::optional<RecallsRecord>> newestRecalls(postgres::Connection& connection) {
  KILN_ASSIGN(postgres::Rows rows, connection.execute("SELECT * FROM recalls ORDER BY version DESC LIMIT 1"));
  return rows.first([](const postgres::Row& row) {
    return RecallsRecord{row.get<std::uint64_t>("version"), row.get<std::string>("document"),
                         row.get<std::string>("root"), row.get<TimePoint>("published")};
  });
}

}  // namespace kiln::index
