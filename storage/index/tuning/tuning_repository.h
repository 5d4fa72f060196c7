// The records of tuners, and what is known of kernels from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// By its hash; with its size.
Result<std::optional<Digest>> findTuningRecord(postgres::Connection& connection, const std::string& instance,
                                               const Digest& record);

// Once per record; the same again changes nothing.
Status insertTuningRecord(postgres::Connection& connection, const TuningRecordRow& record);

// What the record, which is there, says of its kernels. Beside it the latest records that others made of them
// are kept: a few of each worker.
Status putTuningEntries(postgres::Connection& connection, const TuningRecordRow& record,
                        const std::vector<TuningEntryRow>& entries);

// The records that a worker measured, or the workers of an operator.
enum class RecordsBy { kWorker, kOperator };
Result<std::vector<Digest>> listTuningRecords(postgres::Connection& connection, const std::string& instance,
                                              RecordsBy by, const std::string& name);

// A record with the entries that name it.
struct IndexedTuning {
  TuningRecordRow record;
  struct Entry {
    std::string target;
    TuningEntryRow row;
  };
  std::vector<Entry> entries;  // by target and signature; what is kept for the release before among them
};
// The records of the instance, by their hash, after this one.
Result<std::vector<IndexedTuning>> listIndexedTuning(postgres::Connection& connection,
                                                     const std::string& instance, const Digest& after,
                                                     int limit);

// The digests of the tuning entries (tuning.json) that provenances name as an input, each once, up to
// `limit`.
Result<std::vector<Digest>> listTunings(postgres::Connection& connection, const std::string& instance,
                                        int limit);

// The entries of those of these kernels that are known, by signature; of each kernel what the latest record
// says comes first.
Result<std::vector<KnownKernel>> findTuningEntries(postgres::Connection& connection,
                                                   const std::string& instance, const std::string& target,
                                                   const std::vector<std::string>& signatures);

}  // namespace kiln::index
