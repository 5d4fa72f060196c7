// The workers that have ever called.
#pragma once

#include <vector>

#include "storage/index/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// Stores the worker's latest description; firstContact is kept.
Status upsertWorker(postgres::Connection& connection, const WorkerRecord& worker);
// By name.
Result<std::vector<WorkerRecord>> listWorkers(postgres::Connection& connection);

}  // namespace kiln::index
