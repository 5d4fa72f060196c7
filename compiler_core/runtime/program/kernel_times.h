// The time that runs spend in each parallel loop of a program and in each kernel on a device.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler_core/runtime/program/span_list.h"
#include "compiler_core/runtime/program_abi.h"

namespace kiln::runtime {

// One caller at a time.
class KernelTimes {
 public:
  struct Entry {
    kiln_kernel kernel = nullptr;       // of a parallel loop
    const std::string* name = nullptr;  // of a kernel on a device
    std::uint64_t calls = 0, tasks = 0;
    std::chrono::nanoseconds time{};
  };
  // From now on each part of each call is kept as well.
  void keepSpans() { spans_ = std::make_unique<SpanList>(); }
  SpanList* spans() const { return spans_.get(); }  // null: not kept

  // The entry's place in entries().
  std::size_t add(kiln_kernel kernel, std::int64_t tasks, std::chrono::nanoseconds time) {
    return add(reinterpret_cast<std::uintptr_t>(kernel), {.kernel = kernel}, tasks, time);
  }
  // `name` stays where it is.
  std::size_t add(const std::string& name, std::int64_t blocks, std::chrono::nanoseconds time) {
    return add(reinterpret_cast<std::uintptr_t>(&name), {.name = &name}, blocks, time);
  }
  const std::vector<Entry>& entries() const { return entries_; }  // in the order of first use

 private:
  std::size_t add(std::uintptr_t key, const Entry& fresh, std::int64_t tasks, std::chrono::nanoseconds time) {
    const auto [place, added] = index_.try_emplace(key, entries_.size());
    if (added) entries_.push_back(fresh);
    Entry& entry = entries_[place->second];
    ++entry.calls;
    entry.tasks += static_cast<std::uint64_t>(tasks);
    entry.time += time;
    return place->second;
  }
  std::unordered_map<std::uintptr_t, std::size_t> index_;
  std::vector<Entry> entries_;
  std::unique_ptr<SpanList> spans_;
};

}  // namespace kiln::runtime
