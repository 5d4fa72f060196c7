#include "storage/blob/validation_cache.h"

namespace kiln::storage {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * 1'000'000'000ll + time.tv_nsec;
}

}  // namespace

ValidationCache::ValidationCache(std::size_t entries, Duration ttl, const Clock& clock)
    : capacity_(entries), ttl_(ttl), clock_(clock) {}

bool ValidationCache::isValid(const Digest& digest, const struct stat& file) {
  TimePoint now = clock_.now();
  const MutexLock lock(mutex_);
  auto found = entries_.find(digest);
  if (found == entries_.end()) return false;
  const Entry& entry = *found->second;
  bool same = entry.device == file.st_dev && entry.inode == file.st_ino &&
              digest.size == static_cast<std::uint64_t>(file.st_size) &&
              entry.modified == nanoseconds(file.st_mtim) && entry.changed == nanoseconds(file.st_ctim);
  if (!same || now < entry.checked || now - entry.checked >= ttl_) {
    order_.erase(found->second);
    entries_.erase(found);
    return false;
  }
  order_.splice(order_.begin(), order_, found->second);
  return true;
}

void ValidationCache::remember(const Digest& digest, const struct stat& file) {
  if (capacity_ == 0) return;
  TimePoint now = clock_.now();
  const MutexLock lock(mutex_);
  if (auto found = entries_.find(digest); found != entries_.end()) {
    order_.erase(found->second);
    entries_.erase(found);
  }
  order_.push_front(
      {digest, file.st_dev, file.st_ino, nanoseconds(file.st_mtim), nanoseconds(file.st_ctim), now});
  entries_[digest] = order_.begin();
  if (entries_.size() > capacity_) {
    entries_.erase(order_.back().digest);
    order_.pop_back();
  }
}

void ValidationCache::forget(const Digest& digest) {
  const MutexLock lock(mutex_);
  if (auto found = entries_.find(digest); found != entries_.end()) {
    order_.erase(found->second);
    entries_.erase(found);
  }
}

}  // namespace kiln::storage
