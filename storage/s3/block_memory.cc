#include "storage/s3/block_memory.h"

namespace kiln::s3 {

std::shared_ptr<const BlockDigests> BlockMemory::find(const Digest& blob) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(blob);
  if (found == entries_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second);
  return found->second->digests;
}

void BlockMemory::remember(const Digest& blob, BlockDigests digests) {
  const MutexLock lock(mutex_);
  if (digests.size() > capacity_ || entries_.contains(blob)) return;
  held_ += digests.size();
  order_.push_front({blob, std::make_shared<const BlockDigests>(std::move(digests))});
  entries_[blob] = order_.begin();
  while (held_ > capacity_) {
    held_ -= order_.back().digests->size();
    entries_.erase(order_.back().blob);
    order_.pop_back();
  }
}

}  // namespace kiln::s3
