// What each instance has used of what its quota allows, in the table usage: counted as it happens, in one row
// per resource, and never summed up. Entries of the log and time of GPUs are counted by the schema's
// triggers, whoever signs and however a lease ends; bytes by counted_store.h.
//
// Every call runs on the caller's connection, within its transaction if there is one. `now` is the
// coordinator's clock. Where an instance has used up what it may, the error is kResourceExhausted with
// {"retryAfterSeconds": N} as details: until the window ends, an hour or a day (UTC) of the clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "coordinator/quota/quota_rules.h"
#include "manifest/base/clock.h"
#include "storage/postgres/connection.h"

namespace kiln::quota {

// The numbers are those of the table.
enum class Resource { kStoredBytes = 1, kUploadedBytes = 2, kLogEntries = 3, kGpuSeconds = 4 };

// That the instance has not used up the resource.
Status checkLeft(postgres::Connection& connection, const Quota& quota, const std::string& instance,
                 Resource resource, TimePoint now);

// Counts so many bytes, or fails and counts none where that would be more than the quota allows. Where it
// allows less than these alone, there is no retryAfterSeconds: waiting does not help.
Status takeBytes(postgres::Connection& connection, const Quota& quota, const std::string& instance,
                 Resource resource, std::int64_t bytes, TimePoint now);
// Takes back what takeBytes() counted at `taken`, unless its window is over.
Status giveBytesBack(postgres::Connection& connection, const std::string& instance, Resource resource,
                     std::int64_t bytes, TimePoint taken);

// The bytes that are counted as stored, by instance.
using StoredBytes = std::map<std::string, std::int64_t>;
Result<StoredBytes> storedBytes(postgres::Connection& connection);
// From now on `found` counts, by instance, and what was taken since `before`. What comes while things are
// found may count twice until the next time.
Status correctStoredBytes(postgres::Connection& connection, const StoredBytes& found,
                          const StoredBytes& before);

}  // namespace kiln::quota
