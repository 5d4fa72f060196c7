// The bounded record of a stream: the first and the last part; what lies between is counted and dropped. The
// last lines matter most (the tool's error is there), the first say what it was doing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace kiln::sandbox {

// Not thread safe.
class BoundedLog {
 public:
  // Keeps at most about `limit` bytes. `onLine`, if given, sees each complete line of at most 4096 bytes,
  // without its newline; longer lines are skipped.
  explicit BoundedLog(std::uint64_t limit, std::function<void(std::string_view)> onLine = {});

  void append(std::string_view bytes);
  // Head, a line that says how much is missing (if any is), tail.
  std::string text() const;
  std::uint64_t total() const { return total_; }

 private:
  void split(std::string_view bytes);

  std::size_t half_;
  std::function<void(std::string_view)> onLine_;
  std::string head_, tail_, line_;
  bool skipping_ = false;
  std::uint64_t total_ = 0;
};

}  // namespace kiln::sandbox
