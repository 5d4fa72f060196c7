#include "storage/telemetry/registry.h"

namespace kiln::telemetry {

void Registry::beforeCollect(std::function<void()> sample) {
  const MutexLock lock(mutex_);
  samples_.push_back(std::move(sample));
}

std::vector<prometheus::MetricFamily> Registry::Collect() const {
  const MutexLock lock(mutex_);
  for (const auto& sample : samples_) sample();
  return prometheus::Registry::Collect();
}

void raiseTo(prometheus::Counter& counter, double total) {
  const double more = total - counter.Value();
  if (more > 0) counter.Increment(more);
}

}  // namespace kiln::telemetry
