// How many compressed streams go on at once: each takes memory that its client decides about.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace kiln::storage {

struct CodecLimits {
  std::size_t streams = 64;     // of kMaxZstdWindowLog and less each
  std::size_t ofInstance = 32;  // so that no tenant has them all
  std::chrono::nanoseconds patience = std::chrono::seconds(20);
};

// Thread safe. Must outlive the slots that it gives.
class CodecSlots {
 public:
  explicit CodecSlots(CodecLimits limits = {}) : limits_(limits) {}

  class Slot {
   public:
    Slot(CodecSlots& slots, std::string instance) : slots_(&slots), instance_(std::move(instance)) {}
    Slot(Slot&& other) noexcept
        : slots_(std::exchange(other.slots_, nullptr)), instance_(std::move(other.instance_)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (slots_) slots_->giveBack(instance_);
    }

   private:
    CodecSlots* slots_;
    std::string instance_;
  };

  // Waits until one is free. kResourceExhausted if none is in time.
  Result<Slot> take(const std::string& instance);

 private:
  void giveBack(const std::string& instance);

  const CodecLimits limits_;
  Mutex mutex_;
  Condition freed_;
  std::size_t taken_ KILN_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::size_t> ofInstance_ KILN_GUARDED_BY(mutex_);  // of those that have some
};

}  // namespace kiln::storage
