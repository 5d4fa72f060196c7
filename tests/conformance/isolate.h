// Runs pieces of work in child processes, several at a time, each with a limit on time and memory, so that
// a crash or hang is a result and ends nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace kiln::conformance {

struct Limits {
  int jobs = 1;
  int seconds = 120;                             // of one piece, by the clock
  std::uint64_t bytes = std::uint64_t{8} << 30;  // address space; ignored under AddressSanitizer
};

struct Isolated {
  std::string text;     // what `work` returned
  std::string failure;  // "killed by signal 11", "still running after 120 s"; "" when `work` returned
};

// Calls work(i) in a child for each i below `count`, and done(i, result) here, in order of completion. The
// caller has no other threads.
void isolate(std::size_t count, const Limits& limits, const std::function<std::string(std::size_t)>& work,
             const std::function<void(std::size_t, Isolated)>& done);

}  // namespace kiln::conformance
