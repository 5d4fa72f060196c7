// SpaceLedger: promises of disk space given before bytes are written, so that a full disk refuses a write at
// its start.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "manifest/base/result.h"

namespace kiln::storage {

// Thread safe. Counts this process's promises; other processes on the same disk are seen through its free
// space.
class SpaceLedger {
 public:
  // `capacity`: most bytes of blobs to hold (0: no limit but the disk), `used` of which are there already.
  // `keepFree`: bytes of the file system of `directory` that stay free.
  SpaceLedger(std::string directory, std::uint64_t capacity, std::uint64_t used, std::uint64_t keepFree);

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
    // The bytes are on the disk now: they count as used from here on.
    void keep();

   private:
    friend class SpaceLedger;
    Reservation(SpaceLedger* ledger, std::uint64_t bytes) : ledger_(ledger), bytes_(bytes) {}
    SpaceLedger* ledger_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  // kResourceExhausted says how much is wanted and how much there is.
  Result<Reservation> reserve(std::uint64_t bytes);
  // Bytes that left the store (quarantined blobs).
  void release(std::uint64_t bytes);

 private:
  std::string directory_;
  std::uint64_t capacity_;
  std::uint64_t keepFree_;
  std::mutex mutex_;
  std::uint64_t used_;          // guarded by mutex_
  std::uint64_t promised_ = 0;  // guarded by mutex_
};

}  // namespace kiln::storage
