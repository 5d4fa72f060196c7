// Where the recalls in force are read.
#pragma once

#include <memory>

#include "coordinator/farm/digest_cache.h"
#include "signing/recall/recalls.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

class LoggedRecalls;  // recall/logged_recalls.h

// Thread safe. What is referred to must outlive it.
struct RecallSource {
  postgres::Pool& database;
  DigestCache<signing::Recalls>& cache;  // of what would otherwise be verified each time
  // What the log says was recalled; null where the farm has no log, or no trust root.
  std::shared_ptr<LoggedRecalls> logged = {};
};

}  // namespace kiln::service
