// What runs spend in each parallel loop of a program.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler_core/runtime/program_abi.h"

namespace kiln::runtime {

// One caller at a time.
class KernelTimes {
 public:
  struct Entry {
    kiln_kernel kernel = nullptr;
    std::uint64_t calls = 0, tasks = 0;
    std::chrono::nanoseconds time{};
  };
  void add(kiln_kernel kernel, std::int64_t tasks, std::chrono::nanoseconds time) {
    const auto [place, added] = index_.try_emplace(reinterpret_cast<std::uintptr_t>(kernel), entries_.size());
    if (added) entries_.push_back({kernel});
    Entry& entry = entries_[place->second];
    ++entry.calls;
    entry.tasks += static_cast<std::uint64_t>(tasks);
    entry.time += time;
  }
  const std::vector<Entry>& entries() const { return entries_; }  // in the order of first use

 private:
  std::unordered_map<std::uintptr_t, std::size_t> index_;
  std::vector<Entry> entries_;
};

}  // namespace kiln::runtime
