// Collecting garbage: blobs that no root reaches and nobody asked for lately go.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "coordinator/farm/observers.h"
#include "coordinator/farm/signatory.h"
#include "coordinator/farm/stores.h"
#include "manifest/base/mutex.h"
#include "storage/blob/sweep.h"

namespace kiln::service {

struct GarbageOptions {
  // What clients may rely on: a blob that was uploaded, or said to be there, stays for this long.
  Duration grace = std::chrono::hours(7 * 24);
  Duration keepDisputed = std::chrono::hours(30 * 24);       // what builders who disagreed left
  Duration keepClientResults = std::chrono::hours(30 * 24);  // in the action cache, since their last use
  Duration every{};                                          // zero: only when asked
};

struct GarbageReport {
  Duration grace{};
  bool dryRun = false;
  std::size_t artifacts = 0, tombstoned = 0;
  std::vector<std::string> damaged;  // Reached::damaged
  storage::SweepReport swept;
};

// Thread safe; any number of coordinators may collect on one database and one store, one at a time.
class GarbageCollector {
 public:
  GarbageCollector(const Stores& stores, const Signatory& signatory, const Observers& observers,
                   storage::BlobSweeper& store, GarbageOptions options);
  ~GarbageCollector();

  // kInvalidArgument for less grace than clients may rely on; zero stands for that. kAborted while another
  // coordinator collects.
  Result<GarbageReport> collect(Duration grace, bool dryRun);

  // Collects every `options.every`, until stop().
  void start();
  void stop();  // idempotent

 private:
  Result<GarbageReport> collectAlone(postgres::Connection& connection, Duration grace, bool dryRun);
  void collectForEver();

  const Stores& stores_;
  const Signatory& signatory_;
  const Observers& observers_;
  storage::BlobSweeper& store_;
  const GarbageOptions options_;
  Mutex mutex_;
  Condition stopped_;
  bool stopping_ KILN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kiln::service
