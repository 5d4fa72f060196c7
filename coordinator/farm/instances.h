// Which instances there are. One begins with its first toolchain, and none ends.
#pragma once

#include <set>
#include <string>

#include "manifest/base/mutex.h"
#include "manifest/base/result.h"
#include "storage/blob/instance_name.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

// It is there from the start.
using storage::kDefaultInstance;

// Thread safe. `database` must outlive it.
class Instances {
 public:
  explicit Instances(postgres::Pool& database) : database_(database) {}

  // kNotFound for one in which nothing was ever done, saying how it begins. Only for callers who may know:
  // that an instance is not there is news to whoever has no role in it.
  Status check(const std::string& instance);

 private:
  postgres::Pool& database_;
  Mutex mutex_;
  std::set<std::string> known_ KILN_GUARDED_BY(mutex_);  // no more than the database has
};

}  // namespace kiln::service
