#include "tests/bench/simulator/seen.h"

namespace kiln::fleet {
namespace {

void addTo(auto& sums, const auto& values) {
  for (const auto& [key, value] : values) sums[key] += value;
}

}  // namespace

std::uint64_t Seen::allLeases() const {
  std::uint64_t all = 0;
  for (const auto& [tenant, count] : leases) all += count;
  return all;
}

Seen& Seen::operator+=(const Seen& other) {
  calls += other.calls;
  reports += other.reports;
  addTo(failures, other.failures);
  addTo(leases, other.leases);
  addTo(perSecond, other.perSecond);
  waits.insert(waits.end(), other.waits.begin(), other.waits.end());
  recoveries.insert(recoveries.end(), other.recoveries.begin(), other.recoveries.end());
  return *this;
}

}  // namespace kiln::fleet
