// Which of several coordinators to call: any will do, so it is the first in order that does not fail. Pure;
// times come from the caller's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "manifest/base/clock.h"

namespace kiln::storage {

// Not thread safe.
class EndpointChoice {
 public:
  // `first`, of `count`, comes first, then those after it and those before it. `seed` spreads the returns of
  // many clients.
  EndpointChoice(std::size_t count, std::size_t first, std::uint64_t seed);

  // One that is not among `tried` (of `count` members); nothing once all are. One that failed is passed over
  // until its back-off has ended and `connected` says that it can be reached again; where all others have
  // failed too, it is the one whose back-off ends first.
  std::optional<std::size_t> next(TimePoint now, const std::vector<bool>& tried,
                                  const std::function<bool(std::size_t)>& connected) const;
  void answered(std::size_t which);
  // It backs off from half a second, doubling to half a minute, less up to a half at random.
  void failed(std::size_t which, TimePoint now);

 private:
  struct One {
    int failures = 0;
    TimePoint until{};
  };
  const std::size_t first_;
  std::uint64_t random_;
  std::vector<One> all_;
};

}  // namespace kiln::storage
