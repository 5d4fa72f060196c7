// When each thread worked on which kernel in which run: what a trace shows.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

namespace kiln::runtime {

// A thread's part of one call of a kernel, a call on a device, or a whole run.
struct Span {
  static constexpr std::size_t kWholeRun = std::numeric_limits<std::size_t>::max();
  static constexpr std::uint32_t kDevice = std::numeric_limits<std::uint32_t>::max();

  std::size_t kernel = kWholeRun;            // its place in KernelTimes::entries(), or kWholeRun
  std::uint64_t run = 0;                     // from 0
  std::uint32_t thread = 0;                  // of the pool, the caller's is 0; kDevice
  std::uint64_t tasks = 0;                   // that the thread did; on a device, blocks
  std::chrono::nanoseconds start{}, time{};  // start: since the list was made
};

// One caller at a time. Bounded: what does not fit is counted and not kept.
class SpanList {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMost = std::size_t{1} << 18;

  // Of the run that is on.
  void add(std::size_t kernel, std::uint32_t thread, Time start, std::chrono::nanoseconds time,
           std::uint64_t tasks) {
    if (spans_.size() == kMost) {
      ++left_;
      return;
    }
    spans_.push_back({kernel, run_, thread, tasks, start - origin_, time});
  }
  // Ends the run that is on.
  void addRun(Time start, std::chrono::nanoseconds time) {
    add(Span::kWholeRun, 0, start, time, 0);
    ++run_;
  }
  const std::vector<Span>& spans() const { return spans_; }
  std::uint64_t left() const { return left_; }  // how many did not fit

 private:
  const Time origin_ = std::chrono::steady_clock::now();
  std::uint64_t run_ = 0, left_ = 0;
  std::vector<Span> spans_;
};

}  // namespace kiln::runtime
