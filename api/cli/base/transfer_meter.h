// How far a transfer is, on a terminal: "sending 1.2 GB of 4.0 GB, 85.0 MB/s, 33 s left" in one line that is
// rewritten, once it has taken two seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace kiln::cli {

// Not thread safe. Prints to stderr. The line is gone when the meter is.
class TransferMeter {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Prints nothing unless `shown`. `what` is how the line begins.
  TransferMeter(bool shown, std::string what, std::function<Time()> now = std::chrono::steady_clock::now);
  ~TransferMeter();
  TransferMeter(const TransferMeter&) = delete;
  TransferMeter& operator=(const TransferMeter&) = delete;

  // So many bytes are through, of so many. A total that is another one begins a new transfer.
  void at(std::uint64_t done, std::uint64_t total);

 private:
  const bool shown_;
  const std::string what_;
  const std::function<Time()> now_;
  Time began_, drawn_;
  std::uint64_t total_ = 0, doneBefore_ = 0;
  bool isDrawn_ = false;
};

// "1.2 GB of 4.0 GB, 85.0 MB/s, 33 s left": `done` of `total` after `seconds`, in which `moved` of it came
// through. Without what cannot be known.
std::string transferText(std::uint64_t done, std::uint64_t total, std::uint64_t moved, double seconds);

}  // namespace kiln::cli
