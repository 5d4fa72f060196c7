#include "worker/devices/registry.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "manifest/base/printable.h"
#include "storage/logging/log.h"
#include "worker/devices/cpu.h"

namespace kiln::devices {
namespace {

constexpr Duration kFirstRetry = std::chrono::seconds(5);
constexpr Duration kMaxRetry = std::chrono::minutes(10);
constexpr std::size_t kMaxDevices = 64;         // that a worker may advertise
constexpr std::chrono::milliseconds kLook{50};  // how often a waiting action looks for its end

bool requested(const sandbox::Cancel& cancel) {
  pollfd poll{cancel.fd(), POLLIN, 0};
  return ::poll(&poll, 1, 0) == 1;
}

// Adding up a few numbers is all that a processor has to show.
Status testProcessor() {
  volatile std::uint64_t sum = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) sum = sum + i;
  if (sum == 500500) return {};
  return fail(Code::kUnavailable, "it cannot add");
}

// One GPU may be listed by CUDA ("GPU-<uuid>") and by Vulkan ("<uuid>"): whoever holds the one holds the
// other.
std::string lockName(const std::string& uuid) {
  constexpr std::string_view kCudaPrefix = "GPU-";
  return uuid.starts_with(kCudaPrefix) ? uuid.substr(kCudaPrefix.size()) : uuid;
}

}  // namespace

Hold::Hold(Hold&& other) noexcept
    : registry_(other.registry_),
      ids_(std::move(other.ids_)),
      gpu_(std::move(other.gpu_)),
      lock_(std::move(other.lock_)),
      machine_(std::move(other.machine_)) {
  other.ids_.clear();
}

Hold::~Hold() {
  lock_.reset();
  machine_.reset();
  registry_->release(ids_);
}

void Registry::discover(const std::vector<std::string>& libraries) {
  libraries_ = libraries;
  {
    const MutexLock lock(mutex_);
    entries_[kCpuId].about = readCpu();
  }
  look();
}

void Registry::look() {
  std::vector<Gpu> all;
  std::string missing;
  for (const std::string& library : libraries_) {
    auto gpus = source_.list(library);
    if (gpus && !gpus->empty()) {
      std::move(gpus->begin(), gpus->end(), std::back_inserter(all));
      continue;
    }
    missing += (missing.empty() ? "" : "; ") + printable(library, 200) + ": " +
               (gpus ? "it lists no device" : gpus.error().message);
  }
  std::ranges::sort(all, {}, &Gpu::uuid);
  const MutexLock lock(mutex_);
  missing_ = std::move(missing);
  lookAgain_ = missing_.empty() ? std::nullopt : std::optional(clock_.now() + kMaxRetry);
  for (Gpu& gpu : all) {
    const bool known = std::ranges::any_of(entries_, [&](const auto& entry) {
      return entry.second.gpu && entry.second.gpu->uuid == gpu.uuid &&
             entry.second.about.api() == gpu.about.api();
    });
    if (known || entries_.size() == kMaxDevices) continue;
    Entry entry;
    entry.about = gpu.about;
    entry.about.set_id("gpu" + std::to_string(entries_.size() - 1));
    entry.gpu = std::move(gpu);
    entries_[entry.about.id()] = std::move(entry);
  }
}

std::vector<v1::Device> Registry::devices() const {
  const MutexLock lock(mutex_);
  std::vector<v1::Device> out;
  for (const auto& [id, entry] : entries_) out.push_back(entry.about);
  return out;
}

std::string Registry::missing() const {
  const MutexLock lock(mutex_);
  return missing_;
}

Status Registry::take(const std::vector<std::string>& ids, const sandbox::Cancel& cancel) {
  const MutexLock lock(mutex_);
  for (;;) {
    bool free = true;
    for (const std::string& id : ids) {
      const auto entry = entries_.find(id);
      if (entry == entries_.end())
        return fail(Code::kUnavailable, "this worker has no device " + printable(id, 64));
      if (!entry->second.about.healthy())
        return fail(Code::kUnavailable, "device " + id + " is drained: " + entry->second.about.reason());
      free = free && !entry->second.held;
    }
    if (free) break;
    if (requested(cancel)) return fail(Code::kCancelled, "cancelled");
    changed_.waitFor(mutex_, kLook);
  }
  for (const std::string& id : ids) entries_.at(id).held = true;
  return {};
}

Result<HostLock> Registry::lockHost(const std::string& uuid, const sandbox::Cancel& cancel) const {
  for (;;) {
    KILN_ASSIGN(auto lock, HostLock::tryTake(uuid));
    if (lock) return std::move(*lock);
    if (requested(cancel)) return fail(Code::kCancelled, "cancelled");
    std::this_thread::sleep_for(kLook);
  }
}

Result<Hold> Registry::hold(const std::vector<std::string>& ids, const sandbox::Cancel& cancel, Claim claim) {
  KILN_TRY(take(ids, cancel));
  Hold held(*this, ids);
  if (claim == Claim::kMachine) {
    KILN_ASSIGN(held.machine_, lockHost(kCpuId, cancel));
  }
  for (const std::string& id : ids) {
    std::optional<Gpu> gpu;
    v1::Device about;
    {
      const MutexLock lock(mutex_);
      gpu = entries_.at(id).gpu;
      about = entries_.at(id).about;
    }
    if (gpu && !about.emulated()) {
      KILN_ASSIGN(held.lock_, lockHost(lockName(gpu->uuid), cancel));
    }
    KILN_TRY(tryOut(id));
    if (!gpu) continue;
    const MutexLock lock(mutex_);
    held.gpu_ =
        HeldGpu{id, gpu->library, entries_.at(id).gpu->ordinal, about.emulated(), about.type() == "software"};
  }
  return held;
}

Status Registry::tryOut(const std::string& id) {
  std::optional<Gpu> gpu;
  {
    const MutexLock lock(mutex_);
    gpu = entries_.at(id).gpu;
  }
  Result<int> works = 0;
  if (gpu) {
    works = source_.test(gpu->library, gpu->uuid);
  } else if (const Status processor = testProcessor(); !processor) {
    works = fail(processor.error());
  }
  const MutexLock lock(mutex_);
  Entry& entry = entries_.at(id);
  if (!works) {
    drainLocked(entry, "its health check failed: " + works.error().message);
    return fail(Code::kUnavailable, "device " + id + " is drained: " + entry.about.reason());
  }
  if (!entry.about.healthy()) logging::info("device is healthy again", {{"device", id}});
  if (entry.gpu) entry.gpu->ordinal = *works;
  entry.about.set_healthy(true);
  entry.about.clear_reason();
  return {};
}

Status Registry::stillWorks(const HeldGpu& gpu) {
  return tryOut(gpu.id);
}

void Registry::proved(const std::string& id) {
  const MutexLock lock(mutex_);
  if (const auto entry = entries_.find(id); entry != entries_.end()) entry->second.failures = 0;
}

void Registry::drain(const std::string& id, const std::string& reason) {
  const MutexLock lock(mutex_);
  if (const auto entry = entries_.find(id); entry != entries_.end()) drainLocked(entry->second, reason);
}

void Registry::drainLocked(Entry& entry, const std::string& reason) {
  const Duration wait = std::min(kMaxRetry, kFirstRetry * (1 << std::min(entry.failures, 10)));
  ++entry.failures;
  entry.again = clock_.now() + wait;
  entry.about.set_healthy(false);
  entry.about.set_reason(printable(reason, 500));
  logging::warning("device drained", {{"device", entry.about.id()},
                                      {"failures", std::to_string(entry.failures)},
                                      {"reason", entry.about.reason()}});
}

void Registry::release(const std::vector<std::string>& ids) {
  if (ids.empty()) return;
  const MutexLock lock(mutex_);
  for (const std::string& id : ids) entries_.at(id).held = false;
  changed_.notifyAll();
}

std::optional<TimePoint> Registry::nextRetry() const {
  const MutexLock lock(mutex_);
  std::optional<TimePoint> next = lookAgain_;
  for (const auto& [id, entry] : entries_)
    if (!entry.about.healthy() && (!next || entry.again < *next)) next = entry.again;
  return next;
}

void Registry::retry() {
  std::vector<std::string> due;
  bool looks = false;
  {
    const MutexLock lock(mutex_);
    looks = lookAgain_ && *lookAgain_ <= clock_.now();
    for (const auto& [id, entry] : entries_)
      if (!entry.about.healthy() && !entry.held && entry.again <= clock_.now()) due.push_back(id);
  }
  for (const std::string& id : due) looks = !tryOut(id) || looks;
  if (looks) look();
}

}  // namespace kiln::devices
