#include "storage/index/fleet/worker_repository.h"

#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

std::vector<std::int64_t> numbersOf(const std::vector<ActionKind>& kinds) {
  std::vector<std::int64_t> out;
  for (ActionKind kind : kinds) out.push_back(static_cast<int>(kind));
  return out;
}

// For coordinators of the release before, to whom a worker is its name.
Status upsertByName(Connection& connection, const WorkerRecord& worker) {
  KILN_TRY(connection.execute(
      "INSERT INTO workers (name, operator, certificate, description, targets, kinds, draining, "
      "first_contact, last_contact, runs, emulates) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10) "
      "ON CONFLICT (name) DO UPDATE SET operator = $2, certificate = $3, description = $4, targets = $5, "
      "kinds = $6, draining = $7, last_contact = $8, runs = $9, emulates = $10",
      {worker.name, worker.operatorName, hashParam(worker.certificate), asBytes(worker.description),
       worker.targets, numbersOf(worker.kinds), worker.draining, worker.lastContact, worker.runs,
       worker.emulates}));
  return {};
}

WorkerRecord workerAt(const Row& row) {
  WorkerRecord worker;
  worker.name = row.get<std::string>("name");
  worker.operatorName = row.get<std::string>("operator");
  worker.certificate = hashAt(row, "certificate");
  worker.description = bytesAt(row, "description");
  worker.targets = row.get<std::vector<std::string>>("targets");
  worker.runs = row.get<std::vector<std::string>>("runs");
  worker.emulates = row.get<std::vector<std::string>>("emulates");
  worker.kinds = kindsAt(row, "kinds");
  worker.slots = row.get<int>("slots");
  worker.draining = row.get<bool>("draining");
  worker.firstContact = row.get<TimePoint>("first_contact");
  worker.lastContact = row.get<TimePoint>("last_contact");
  worker.key = hashAt(row, "key");
  worker.peerAddress = row.get<std::string>("place");
  worker.instances = row.get<std::optional<std::vector<std::string>>>("instances");
  return worker;
}

}  // namespace

Result<bool> upsertWorker(Connection& connection, const WorkerRecord& worker, TimePoint silentSince) {
  KILN_ASSIGN(
      const Rows stored,
      connection.execute(
          "INSERT INTO fleet AS f (name, operator, key, place, instances, certificate, description, targets, "
          "kinds, draining, first_contact, last_contact, runs, emulates, slots) VALUES ($1, $2, $3, $4, $5, "
          "$6, $7, "
          "$8, $9, $10, $11, $11, $12, $13, $15) ON CONFLICT (operator, name) DO UPDATE SET key = $3, place "
          "= $4, "
          "instances = $5, certificate = $6, description = $7, targets = $8, kinds = $9, draining = $10, "
          "last_contact = $11, runs = $12, emulates = $13, slots = $15 WHERE f.place = $4 OR f.last_contact "
          "< $14",
          {worker.name, worker.operatorName, hashParam(worker.key), worker.peerAddress, worker.instances,
           hashParam(worker.certificate), asBytes(worker.description), worker.targets,
           numbersOf(worker.kinds), worker.draining, worker.lastContact, worker.runs, worker.emulates,
           silentSince, worker.slots}));
  if (stored.affected() == 0) return false;
  KILN_TRY(upsertByName(connection, worker));
  return true;
}

// Times are microseconds since 1970. Who is being written by somebody else is left to them. The table for the
// release before follows.
constexpr char kTouch[] = R"sql(
WITH due AS (
  SELECT f.operator, f.name, timestamptz 'epoch' + t.at * interval '1 microsecond' AS at
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS t(operator, name, place, at)
  JOIN fleet f ON f.operator = t.operator AND f.name = t.name AND f.place = t.place
  FOR NO KEY UPDATE OF f SKIP LOCKED),
before AS (
  UPDATE workers w SET last_contact = d.at FROM due d WHERE w.name = d.name AND w.operator = d.operator)
UPDATE fleet f SET last_contact = d.at FROM due d WHERE f.operator = d.operator AND f.name = d.name
RETURNING f.operator, f.name)sql";

Result<std::vector<std::pair<std::string, std::string>>> touchWorkers(
    Connection& connection, const std::vector<WorkerContact>& workers) {
  std::vector<std::string> operators, names, places;
  std::vector<std::int64_t> times;
  for (const WorkerContact& worker : workers) {
    operators.push_back(worker.operatorName);
    names.push_back(worker.name);
    places.push_back(worker.place);
    times.push_back(worker.at.time_since_epoch() / std::chrono::microseconds(1));
  }
  KILN_ASSIGN(const Rows rows, connection.execute(kTouch, {operators, names, places, times}));
  return rows.map([](const Row& row) {
    return std::pair(row.get<std::string>("operator"), row.get<std::string>("name"));
  });
}

Result<std::vector<WorkerRecord>> listWorkers(Connection& connection) {
  KILN_ASSIGN(const Rows rows, connection.execute("SELECT * FROM fleet ORDER BY name, operator"));
  return rows.map(workerAt);
}

Result<std::vector<WorkerRecord>> listWorkersOf(Connection& connection, const std::string& instance) {
  KILN_ASSIGN(const Rows rows,
              connection.execute("SELECT * FROM fleet WHERE instances IS NULL OR $1 = ANY(instances) "
                                 "ORDER BY name, operator",
                                 {instance}));
  return rows.map(workerAt);
}

}  // namespace kiln::index
