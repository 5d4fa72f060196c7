// The workers that have ever called, each by operator and name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// (Needs a transaction.) Stores the worker's latest description; firstContact is kept. False, with nothing
// stored, while the same worker calls from another address: it has called from there since `silentSince`.
Result<bool> upsertWorker(postgres::Connection& connection, const WorkerRecord& worker,
                          TimePoint silentSince);
struct WorkerContact {
  std::string operatorName, name;
  std::string place;  // WorkerRecord::peerAddress
  TimePoint at;
};
// (Needs a transaction.) They called as they are stored; each stands there once. Returns operator and name of
// those for whom this is stored: not of those who are stored with another place, or are being written by
// somebody else.
Result<std::vector<std::pair<std::string, std::string>>> touchWorkers(
    postgres::Connection& connection, const std::vector<WorkerContact>& workers);
// By name, then operator.
Result<std::vector<WorkerRecord>> listWorkers(postgres::Connection& connection);
// Those that serve this instance.
Result<std::vector<WorkerRecord>> listWorkersOf(postgres::Connection& connection,
                                                const std::string& instance);

}  // namespace kiln::index
