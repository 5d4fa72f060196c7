// The quota file: how much of the farm each instance may have. Form: manifest/schemas/quotas.schema.json.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace kiln::quota {

struct Quota {
  int weight = 1;              // of what runs at a time an instance with twice the weight gets twice as much
  std::optional<int> queued;   // runs that wait; nothing: as many as come
  std::optional<int> running;  // leases at a time
  // What is counted as it happens (usage.h).
  std::optional<std::int64_t> storedBytes = {};           // of all blobs that it refers to
  std::optional<std::int64_t> uploadedBytesPerHour = {};  // by clients
  std::optional<std::int64_t> logEntriesPerDay = {};
  std::optional<std::int64_t> gpuMinutesPerDay = {};
  std::optional<std::int64_t> workerSecondsPerJob = {};  // by estimate
  bool operator==(const Quota&) const = default;
};

// Immutable, so thread safe. Without a file every instance has a weight of 1 and no limit.
class QuotaRules {
 public:
  // kInvalidArgument naming the member; unknown members are refused.
  static Result<QuotaRules> parse(std::string_view text);
  // Errors name the path.
  static Result<QuotaRules> load(const std::string& path);

  const Quota& of(const std::string& instance) const;
  // Of every instance that the file does not name.
  const Quota& others() const { return others_; }
  const std::map<std::string, Quota>& named() const { return named_; }

 private:
  Quota others_;
  std::map<std::string, Quota> named_;
};

// The rules that hold now. Thread safe.
class Quotas {
 public:
  explicit Quotas(QuotaRules rules = {}) : rules_(std::make_shared<QuotaRules>(std::move(rules))) {}
  std::shared_ptr<const QuotaRules> current() const;
  void replace(QuotaRules rules);

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const QuotaRules> rules_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::quota
