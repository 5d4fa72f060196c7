// How long an action says that it may take.
#pragma once

#include <algorithm>
#include <chrono>

#include "manifest/base/clock.h"
#include "storage/tree/digest_proto.h"

namespace kiln::storage {

// From 0, which is nothing said, to a year: whoever wrote the action may have written anything.
inline Duration timeoutOf(const reapi::Action& action) {
  constexpr std::int64_t kYear = 366LL * 24 * 3600;
  const std::chrono::seconds seconds(std::clamp<std::int64_t>(action.timeout().seconds(), 0, kYear));
  const std::chrono::nanoseconds nanos(std::clamp(action.timeout().nanos(), 0, 999'999'999));
  return seconds + std::chrono::duration_cast<Duration>(nanos);
}

}  // namespace kiln::storage
