// The one source of time. Injected everywhere, so that tests of leases and timeouts never sleep.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

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
// The exact form that rfc3339() writes; years 1970 to 9999. Anything else is kInvalidArgument.
Result<TimePoint> parseRfc3339(std::string_view text);

}  // namespace kiln
