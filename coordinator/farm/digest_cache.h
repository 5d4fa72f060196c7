// A cache of what was found out from bytes, by their digest.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <unordered_map>

#include "manifest/base/digest.h"
#include "manifest/base/mutex.h"

namespace kiln::service {

// Thread safe. Holds at most `entries` values and evicts the oldest first. A value must follow from the bytes
// alone, at any time: nothing invalidates it.
template <class Value>
class DigestCache {
 public:
  explicit DigestCache(std::size_t entries) : entries_(entries) {}

  // Null if it is not cached (any more).
  std::shared_ptr<const Value> find(const Digest& of) const {
    const MutexLock lock(mutex_);
    const auto found = values_.find(of);
    return found == values_.end() ? nullptr : found->second;
  }

  void insert(const Digest& of, std::shared_ptr<const Value> value) {
    const MutexLock lock(mutex_);
    if (!values_.insert_or_assign(of, std::move(value)).second) return;
    order_.push_back(of);
    if (order_.size() <= entries_) return;
    values_.erase(order_.front());
    order_.pop_front();
  }

 private:
  const std::size_t entries_;
  mutable Mutex mutex_;
  std::unordered_map<Digest, std::shared_ptr<const Value>, DigestHash> values_ KILN_GUARDED_BY(mutex_);
  std::deque<Digest> order_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::service
