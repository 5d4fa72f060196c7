// Some requests at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace kiln::s3 {

// Calls each(0) to each(count - 1) on this and at most `threads` - 1 further threads; back when all are done.
template <class F>
void inParallel(std::size_t count, unsigned threads, F each) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t at = next++; at < count; at = next++) each(at);
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < std::min<std::size_t>(threads, count); ++i) others.emplace_back(work);
  work();
}

}  // namespace kiln::s3
