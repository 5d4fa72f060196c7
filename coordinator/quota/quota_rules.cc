#include "coordinator/quota/quota_rules.h"

#include "manifest/json/reader.h"
#include "signing/keys/files.h"
#include "storage/blob/instance_name.h"

namespace kiln::quota {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr std::size_t kMaxInstances = 4096;
constexpr int kMaxWeight = 1000;
constexpr std::int64_t kMaxRuns = 10'000'000;
constexpr std::int64_t kMaxBytes = (std::int64_t{1} << 53) - 1;  // that JSON numbers are exact to
constexpr std::int64_t kMaxPerDay = 1'000'000'000;
constexpr std::int64_t kMaxWorkerSeconds = 1'000'000'000;

template <class T>
Status readLimit(ObjectReader& reader, std::string_view name, std::int64_t most, std::optional<T>& out) {
  if (!reader.has(name)) return {};
  KILN_ASSIGN(const std::int64_t value, reader.integer(name, 0, most));
  out = static_cast<T>(value);
  return {};
}

// What it does not say is as in `otherwise`.
Result<Quota> readQuota(ObjectReader reader, const Quota& otherwise) {
  Quota out = otherwise;
  if (reader.has("weight")) {
    KILN_ASSIGN(const std::int64_t weight, reader.integer("weight", 1, kMaxWeight));
    out.weight = static_cast<int>(weight);
  }
  KILN_TRY(readLimit(reader, "queued", kMaxRuns, out.queued));
  KILN_TRY(readLimit(reader, "running", kMaxRuns, out.running));
  KILN_TRY(readLimit(reader, "storedBytes", kMaxBytes, out.storedBytes));
  KILN_TRY(readLimit(reader, "uploadedBytesPerHour", kMaxBytes, out.uploadedBytesPerHour));
  KILN_TRY(readLimit(reader, "logEntriesPerDay", kMaxPerDay, out.logEntriesPerDay));
  KILN_TRY(readLimit(reader, "gpuMinutesPerDay", kMaxPerDay, out.gpuMinutesPerDay));
  KILN_TRY(readLimit(reader, "workerSecondsPerJob", kMaxWorkerSeconds, out.workerSecondsPerJob));
  KILN_TRY(reader.finish());
  return out;
}

}  // namespace

Result<QuotaRules> QuotaRules::parse(std::string_view text) {
  KILN_ASSIGN(const Json json, parseJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Quotas"));
  QuotaRules out;
  if (reader.has("default")) {
    KILN_ASSIGN(ObjectReader others, reader.object("default"));
    KILN_ASSIGN(out.others_, readQuota(std::move(others), {}));
  }
  if (reader.has("instances")) {
    KILN_ASSIGN(const Json* all, reader.any("instances"));
    if (!all->is_object()) return badMember("instances", "must be an object");
    if (all->size() > kMaxInstances) return badMember("instances", "has more than 4096 members");
    for (const auto& [name, quota] : all->items()) {
      if (const Status good = storage::checkInstanceName(name); !good)
        return badMember("instances", good.error().message);
      KILN_ASSIGN(ObjectReader one, ObjectReader::open(quota, "instances." + name));
      KILN_ASSIGN(out.named_[name], readQuota(std::move(one), out.others_));
    }
  }
  KILN_TRY(reader.finish());
  return out;
}

Result<QuotaRules> QuotaRules::load(const std::string& path) {
  KILN_ASSIGN(const std::string text, signing::readTrustFile(path, kMaxFileBytes));
  auto rules = parse(text);
  if (!rules) return fail(rules.error().in(path));
  return rules;
}

const Quota& QuotaRules::of(const std::string& instance) const {
  const auto found = named_.find(instance);
  return found == named_.end() ? others_ : found->second;
}

std::shared_ptr<const QuotaRules> Quotas::current() const {
  const MutexLock lock(mutex_);
  return rules_;
}

void Quotas::replace(QuotaRules rules) {
  auto next = std::make_shared<const QuotaRules>(std::move(rules));
  const MutexLock lock(mutex_);
  rules_ = std::move(next);
}

}  // namespace kiln::quota
