#include "coordinator/quota/usage.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "manifest/json/json.h"

namespace kiln::quota {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

// By then a collection of garbage may have been.
constexpr std::chrono::seconds kStoredRetry = std::chrono::hours(1);

constexpr std::int64_t kSecondsPerMinute = 60;

TimePoint windowOf(Resource resource, TimePoint now) {
  if (resource == Resource::kStoredBytes) return {};
  if (resource == Resource::kUploadedBytes) return std::chrono::floor<std::chrono::hours>(now);
  return std::chrono::floor<std::chrono::days>(now);
}

std::int64_t secondsLeft(Resource resource, TimePoint now) {
  if (resource == Resource::kStoredBytes) return kStoredRetry.count();
  const Duration window =
      resource == Resource::kUploadedBytes ? Duration(std::chrono::hours(1)) : Duration(std::chrono::days(1));
  return std::chrono::ceil<std::chrono::seconds>(windowOf(resource, now) + window - now).count();
}

// As the table counts.
std::optional<std::int64_t> limitOf(const Quota& quota, Resource resource) {
  switch (resource) {
    case Resource::kStoredBytes:
      return quota.storedBytes;
    case Resource::kUploadedBytes:
      return quota.uploadedBytesPerHour;
    case Resource::kLogEntries:
      return quota.logEntriesPerDay;
    case Resource::kGpuSeconds:
      return quota.gpuMinutesPerDay ? std::optional(*quota.gpuMinutesPerDay * kSecondsPerMinute)
                                    : std::nullopt;
  }
  return std::nullopt;
}

std::string_view limitName(Resource resource) {
  switch (resource) {
    case Resource::kStoredBytes:
      return "storedBytes";
    case Resource::kUploadedBytes:
      return "uploadedBytesPerHour";
    case Resource::kLogEntries:
      return "logEntriesPerDay";
    case Resource::kGpuSeconds:
      return "gpuMinutesPerDay";
  }
  return "";
}

// What is used up, as a person counts it.
std::string described(Resource resource, std::int64_t amount) {
  switch (resource) {
    case Resource::kStoredBytes:
      return fmt::format("{} bytes stored", amount);
    case Resource::kUploadedBytes:
      return fmt::format("{} bytes uploaded in this hour", amount);
    case Resource::kLogEntries:
      return fmt::format("{} entries in today's log (UTC)", amount);
    case Resource::kGpuSeconds:
      return fmt::format("{} minutes of GPUs used today (UTC)", amount / kSecondsPerMinute);
  }
  return "";
}

Error usedUp(const std::string& instance, Resource resource, std::int64_t limit, TimePoint now) {
  const std::int64_t seconds = secondsLeft(resource, now);
  return {
      Code::kResourceExhausted,
      fmt::format("instance {} has {}, as much as its quota's {} allows; {}try again in {} s", instance,
                  described(resource, limit), limitName(resource),
                  resource == Resource::kStoredBytes ? "kiln gc removes what nothing needs; " : "", seconds),
      Json{{"retryAfterSeconds", seconds}}.dump()};
}

// $1 instance, $2 resource, $3 the window's begin, $4 how many, $5 the limit.
constexpr char kTake[] = R"sql(
INSERT INTO usage AS u (instance, resource, since, amount) VALUES ($1, $2, $3, $4)
ON CONFLICT (instance, resource) DO UPDATE SET since = excluded.since,
  amount = excluded.amount + CASE WHEN u.since = excluded.since THEN u.amount ELSE 0 END
WHERE excluded.amount + CASE WHEN u.since = excluded.since THEN u.amount ELSE 0 END <= $5)sql";

// $4 found, $5 what was counted before that.
constexpr char kCorrect[] = R"sql(
INSERT INTO usage AS u (instance, resource, since, amount) VALUES ($1, $2, $3, $4)
ON CONFLICT (instance, resource) DO UPDATE SET amount = greatest(0, excluded.amount + u.amount - $5))sql";

}  // namespace

Status checkLeft(Connection& connection, const Quota& quota, const std::string& instance, Resource resource,
                 TimePoint now) {
  const auto limit = limitOf(quota, resource);
  if (!limit) return {};
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT amount FROM usage WHERE instance = $1 AND resource = $2 AND since = $3",
                             {instance, static_cast<int>(resource), windowOf(resource, now)}));
  KILN_ASSIGN(const auto used, rows.first([](const Row& row) { return row.get<std::int64_t>("amount"); }));
  if (used.value_or(0) < *limit) return {};
  return fail(usedUp(instance, resource, *limit, now));
}

Status takeBytes(Connection& connection, const Quota& quota, const std::string& instance, Resource resource,
                 std::int64_t bytes, TimePoint now) {
  const std::int64_t limit = limitOf(quota, resource).value_or(std::numeric_limits<std::int64_t>::max());
  if (bytes > limit)
    return fail(Code::kResourceExhausted,
                fmt::format("an upload of {} bytes; the {} of instance {} allows {} bytes in all", bytes,
                            limitName(resource), instance, limit));
  KILN_ASSIGN(Rows rows, connection.execute(kTake, {instance, static_cast<int>(resource),
                                                    windowOf(resource, now), bytes, limit}));
  if (rows.affected() > 0) return {};
  return fail(usedUp(instance, resource, limit, now));
}

Status giveBytesBack(Connection& connection, const std::string& instance, Resource resource,
                     std::int64_t bytes, TimePoint taken) {
  KILN_TRY(
      connection.execute("UPDATE usage SET amount = greatest(0, amount - $4) WHERE instance = $1 AND "
                         "resource = $2 AND since = $3",
                         {instance, static_cast<int>(resource), windowOf(resource, taken), bytes}));
  return {};
}

Result<StoredBytes> storedBytes(Connection& connection) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT instance, amount FROM usage WHERE resource = $1",
                                            {static_cast<int>(Resource::kStoredBytes)}));
  KILN_ASSIGN(const auto all, rows.map([](const Row& row) {
    return std::pair(row.get<std::string>("instance"), row.get<std::int64_t>("amount"));
  }));
  return StoredBytes(all.begin(), all.end());
}

Status correctStoredBytes(Connection& connection, const StoredBytes& found, const StoredBytes& before) {
  for (const auto& [instance, bytes] : found) {
    const auto counted = before.find(instance);
    KILN_TRY(connection.execute(
        kCorrect, {instance, static_cast<int>(Resource::kStoredBytes), windowOf(Resource::kStoredBytes, {}),
                   bytes, counted == before.end() ? std::int64_t{0} : counted->second}));
  }
  return {};
}

}  // namespace kiln::quota
