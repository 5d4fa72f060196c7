// The one source of time. Injected everywhere, so that tests of leases and timeouts never sleep.
#pragma once

#include <chrono>
#include <string>

namespace kiln {

using TimePoint = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
using Duration = std::chrono::microseconds;

// Thread safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

// The operating system's wall clock.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
};

// RFC 3339 in UTC with a trailing Z, whole seconds: "2026-11-20T05:23:32Z".
std::string rfc3339(TimePoint time);

}  // namespace kiln
