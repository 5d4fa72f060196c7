// When which worker called, and from where: kept in the database for all coordinators, and written as seldom
// as they bear.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/farm/stores.h"
#include "manifest/base/mutex.h"
#include "storage/index/fleet/worker_repository.h"

namespace kiln::service {

// Thread safe.
class Contacts {
 public:
  // `stores` must outlive it; `lease` is how long a silent worker keeps its work.
  Contacts(const Stores& stores, Duration lease) : stores_(stores), lease_(lease) {}

  // The worker calls now. Stored if its description changed, or a third of a lease after it was stored last:
  // of one that calls as before the time alone, many together, at most once a second. kFailedPrecondition
  // while the same worker speaks from another address, at the latest at its next call but one.
  Status remember(const index::WorkerRecord& worker);
  // How many have called since this coordinator started.
  std::size_t workers();

 private:
  struct Remembered {
    Digest description;
    TimePoint stored;
  };
  using Name = std::pair<std::string, std::string>;  // operator and name

  // The time of a call as before; false if the worker has to be stored as a whole.
  Result<bool> touch(const index::WorkerRecord& worker, const Digest& description);
  Status store(const index::WorkerRecord& worker, const Digest& description);

  const Stores& stores_;
  const Duration lease_;
  Mutex mutex_;
  std::map<Name, Remembered> remembered_ KILN_GUARDED_BY(mutex_);
  std::vector<index::WorkerContact> touched_ KILN_GUARDED_BY(mutex_);  // to be written
  TimePoint written_ KILN_GUARDED_BY(mutex_);                          // when that was done last
};

}  // namespace kiln::service
