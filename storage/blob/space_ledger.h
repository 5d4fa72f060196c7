// SpaceLedger: promises of disk space given before bytes are written, so that a full disk refuses a write at
// its start.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace kiln::storage {

// The bytes of a disk that are free now. Thread safe.
using FreeSpace = std::function<Result<std::uint64_t>()>;
// Of the file system of `directory`.
FreeSpace freeSpaceOf(std::string directory);

// Thread safe. Counts this process's promises; other processes on the same disk are seen through its free
// space. A byte that was promised and then placed on the disk counts once: there.
class SpaceLedger {
 public:
  // `capacity`: most bytes of blobs to hold (0: no limit but the disk), `used` of which are there already.
  // `keepFree`: bytes of the disk that stay free.
  SpaceLedger(FreeSpace freeSpace, std::uint64_t capacity, std::uint64_t used, std::uint64_t keepFree);

  // A promise of `bytes`; given back on destruction unless kept. Must not outlive the ledger.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&& other) noexcept;
    ~Reservation();
    // A smaller promise, or a larger one: kResourceExhausted, and as it was, if there is no room for that.
    void shrink(std::uint64_t bytes);
    Status grow(std::uint64_t bytes);
    std::uint64_t bytes() const { return bytes_; }
    // The first `bytes` of them take up the disk now, whose free space is the smaller for it.
    void place(std::uint64_t bytes);
    // All of them belong to the store now: they count as used from here on.
    void keep();

   private:
    friend class SpaceLedger;
    Reservation(SpaceLedger* ledger, std::uint64_t bytes) : ledger_(ledger), bytes_(bytes) {}
    // What it adds to the ledger's sums.
    void set(std::uint64_t bytes, std::uint64_t placed) KILN_REQUIRES(ledger_->mutex_);

    SpaceLedger* ledger_ = nullptr;
    std::uint64_t bytes_ = 0, placed_ = 0;
  };

  // kResourceExhausted says how much is wanted and how much there is. Its details are
  // {"budget":"capacity","limit":"<bytes>"} where that is what is used up.
  Result<Reservation> reserve(std::uint64_t bytes);
  // Bytes that left the store (quarantined blobs).
  void release(std::uint64_t bytes);

 private:
  const FreeSpace freeSpace_;
  const std::uint64_t capacity_;
  const std::uint64_t keepFree_;
  Mutex mutex_;
  std::uint64_t used_ KILN_GUARDED_BY(mutex_);
  std::uint64_t promised_ KILN_GUARDED_BY(mutex_) = 0;
  std::uint64_t placed_ KILN_GUARDED_BY(mutex_) = 0;  // of the promised ones
};

}  // namespace kiln::storage
