#include "storage/index/worker_repository.h"

#include "storage/index/codec.h"

namespace kiln::index {

using postgres::Row;

Status upsertWorker(postgres::Connection& connection, const WorkerRecord& worker) {
  std::vector<std::int64_t> kinds;
  for (ActionKind kind : worker.kinds) kinds.push_back(static_cast<int>(kind));
  KILN_TRY(connection.execute(
      "INSERT INTO workers (name, operator, certificate, description, targets, kinds, draining, "
      "first_contact, "
      "last_contact, runs, emulates) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10) "
      "ON CONFLICT (name) DO UPDATE SET "
      "operator = "
      "$2, "
      "certificate = $3, description = $4, targets = $5, kinds = $6, draining = $7, last_contact = $8, "
      "runs = $9, emulates = $10",
      {worker.name, worker.operatorName, hashParam(worker.certificate), asBytes(worker.description),
       worker.targets, kinds, worker.draining, worker.lastContact, worker.runs, worker.emulates}));
  return {};
}

Result<std::vector<WorkerRecord>> listWorkers(postgres::Connection& connection) {
  KILN_ASSIGN(postgres::Rows rows, connection.execute("SELECT * FROM workers ORDER BY name"));
  return rows.map([](const Row& row) {
    WorkerRecord worker;
    worker.name = row.get<std::string>("name");
    worker.operatorName = row.get<std::string>("operator");
    worker.certificate = hashAt(row, "certificate");
    worker.description = bytesAt(row, "description");
    worker.targets = row.get<std::vector<std::string>>("targets");
    worker.runs = row.get<std::vector<std::string>>("runs");
    worker.emulates = row.get<std::vector<std::string>>("emulates");
    worker.kinds = kindsAt(row, "kinds");
    worker.draining = row.get<bool>("draining");
    worker.firstContact = row.get<TimePoint>("first_contact");
    worker.lastContact = row.get<TimePoint>("last_contact");
    return worker;
  });
}

}  // namespace kiln::index
