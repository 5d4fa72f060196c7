#include "storage/blob/space_ledger.h"

#include <fmt/core.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

namespace kiln::storage {

FreeSpace freeSpaceOf(std::string directory) {
  return [directory = std::move(directory)]() -> Result<std::uint64_t> {
    struct statvfs disk{};
    if (::statvfs(directory.c_str(), &disk) != 0) return fail(errnoError(errno, "blob store: free space"));
    return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
  };
}

SpaceLedger::SpaceLedger(FreeSpace freeSpace, std::uint64_t capacity, std::uint64_t used,
                         std::uint64_t keepFree)
    : freeSpace_(std::move(freeSpace)), capacity_(capacity), keepFree_(keepFree), used_(used) {}

SpaceLedger::Reservation::Reservation(Reservation&& other) noexcept
    : ledger_(std::exchange(other.ledger_, nullptr)), bytes_(other.bytes_), placed_(other.placed_) {}

SpaceLedger::Reservation& SpaceLedger::Reservation::operator=(Reservation&& other) noexcept {
  std::swap(ledger_, other.ledger_);
  std::swap(bytes_, other.bytes_);
  std::swap(placed_, other.placed_);
  return *this;
}

SpaceLedger::Reservation::~Reservation() {
  if (!ledger_) return;
  const MutexLock lock(ledger_->mutex_);
  set(0, 0);
}

void SpaceLedger::Reservation::set(std::uint64_t bytes, std::uint64_t placed) {
  ledger_->promised_ += bytes - bytes_;  // modulo 2^64: less, too
  ledger_->placed_ += placed - placed_;
  bytes_ = bytes;
  placed_ = placed;
}

void SpaceLedger::Reservation::shrink(std::uint64_t bytes) {
  const MutexLock lock(ledger_->mutex_);
  set(bytes, std::min(placed_, bytes));
}

Status SpaceLedger::Reservation::grow(std::uint64_t bytes) {
  KILN_ASSIGN(Reservation more, ledger_->reserve(bytes - bytes_));
  more.ledger_ = nullptr;  // part of this one now
  bytes_ = bytes;
  return {};
}

void SpaceLedger::Reservation::place(std::uint64_t bytes) {
  const MutexLock lock(ledger_->mutex_);
  set(bytes_, std::clamp(bytes, placed_, bytes_));
}

void SpaceLedger::Reservation::keep() {
  if (!ledger_) return;
  const MutexLock lock(ledger_->mutex_);
  ledger_->used_ += bytes_;
  set(0, 0);
}

Result<SpaceLedger::Reservation> SpaceLedger::reserve(std::uint64_t bytes) {
  auto full = [&](std::string_view limit, std::uint64_t available) {
    return Error{
        Code::kResourceExhausted,
        fmt::format(
            "the blob store is full: {} bytes wanted, {} available ({}); free some space and try again",
            bytes, available, limit),
        {}};
  };
  // Looked at under the lock: what others have placed until then is in it.
  const MutexLock lock(mutex_);
  KILN_ASSIGN(const std::uint64_t free, freeSpace_());
  const std::uint64_t blocked = std::min(free, keepFree_ + promised_ - placed_);
  if (bytes > free - blocked) return fail(full("of the disk", free - blocked));
  if (capacity_ != 0) {
    std::uint64_t left = capacity_ - std::min(capacity_, used_ + promised_);
    if (bytes > left) {
      Error error = full("of its configured capacity", left);
      error.details = fmt::format(R"({{"budget":"capacity","limit":"{}"}})", capacity_);
      return fail(std::move(error));
    }
  }
  promised_ += bytes;
  return Reservation(this, bytes);
}

void SpaceLedger::release(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  used_ -= std::min(used_, bytes);
}

}  // namespace kiln::storage
