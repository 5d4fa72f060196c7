#include "storage/index/fleet/farm_repository.h"

namespace kiln::index {

Result<std::uint64_t> openGeneration(postgres::Connection& connection) {
  KILN_TRY(connection.execute(
      "INSERT INTO farm (generation, system_identifier, timeline) "
      "SELECT 1, s.system_identifier::text, c.timeline_id FROM pg_control_system() s, "
      "pg_control_checkpoint() c "
      "ON CONFLICT (only_row) DO UPDATE SET generation = farm.generation + 1, "
      "system_identifier = excluded.system_identifier, timeline = excluded.timeline "
      "WHERE farm.system_identifier <> excluded.system_identifier OR farm.timeline <> excluded.timeline"));
  return currentGeneration(connection);
}

Result<std::uint64_t> currentGeneration(postgres::Connection& connection) {
  KILN_ASSIGN(postgres::Rows rows, connection.execute("SELECT generation FROM farm"));
  KILN_ASSIGN(auto generation,
              rows.first([](const postgres::Row& row) { return row.get<std::uint64_t>("generation"); }));
  if (!generation) return fail(Code::kInternal, "the farm table is empty: openGeneration() was not called");
  return *generation;
}

Result<bool> anotherListens(postgres::Connection& connection, Duration forThisLong) {
  KILN_ASSIGN(
      const postgres::Rows rows,
      connection.execute("SELECT FROM pg_stat_activity WHERE datname = current_database() AND "
                         "starts_with(application_name, $1) AND application_name <> "
                         "current_setting('application_name') AND backend_start < clock_timestamp() - "
                         "$2::bigint * interval '1 microsecond' LIMIT 1",
                         {kCoordinatorSession, static_cast<std::int64_t>(forThisLong.count())}));
  return rows.affected() > 0;
}

}  // namespace kiln::index
