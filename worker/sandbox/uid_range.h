// Host uids for the actions of root workers: several workers on one host take ranges that do not overlap.
#pragma once

#include <cstdint>

#include "manifest/base/file.h"
#include "manifest/base/result.h"

namespace kiln::sandbox {

class UidRange {
 public:
  static constexpr std::uint32_t kFirst = 58800, kPerWorker = 32, kWorkers = 32;

  // The first range nobody on this host holds, held until destroyed. kResourceExhausted if all are taken. The
  // lock is an abstract Unix socket's name: it needs no file and goes with the process, however that ends.
  static Result<UidRange> claim();
  std::uint32_t base() const { return base_; }

 private:
  UidRange(UniqueFd lock, std::uint32_t base) : lock_(std::move(lock)), base_(base) {}
  UniqueFd lock_;
  std::uint32_t base_;
};

}  // namespace kiln::sandbox
