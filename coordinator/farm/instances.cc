#include "coordinator/farm/instances.h"

#include "manifest/base/printable.h"
#include "storage/index/audit/known_names.h"

namespace kiln::service {

Status Instances::check(const std::string& instance) {
  if (instance == kDefaultInstance) return {};
  {
    const MutexLock lock(mutex_);
    if (known_.contains(instance)) return {};
  }
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(const bool inUse, index::isInUse(*connection, instance));
  if (!inUse)
    return fail(Code::kNotFound, "--instance (KILN_INSTANCE): this farm has no instance " +
                                     inQuotes(instance) +
                                     "; one begins with its first toolchain (kiln toolchain add)");
  const MutexLock lock(mutex_);
  known_.insert(instance);
  return {};
}

}  // namespace kiln::service
