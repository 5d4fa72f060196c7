// The workers that have ever called, each by operator and name.
#pragma once

#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// (Needs a transaction.) Stores the worker's latest description; firstContact is kept. False, with nothing
// stored, while the same worker calls from another address: it has called from there since `silentSince`.
Result<bool> upsertWorker(postgres::Connection& connection, const WorkerRecord& worker,
                          TimePoint silentSince);
// By name, then operator.
Result<std::vector<WorkerRecord>> listWorkers(postgres::Connection& connection);
// Those that serve this instance.
Result<std::vector<WorkerRecord>> listWorkersOf(postgres::Connection& connection,
                                                const std::string& instance);

}  // namespace kiln::index
