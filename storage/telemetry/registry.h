// A registry of metrics that are looked up as they are asked for, beside those that are counted as things
// happen.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <functional>
#include <vector>

#include "manifest/base/mutex.h"
#include "storage/telemetry/exemplars.h"

namespace kiln::telemetry {

// Thread safe.
class Registry final : public prometheus::Registry {
 public:
  // `sample` is called before each Collect(), one at a time, and sets what it registered. It must not wait
  // for anything, and what it refers to must be there as long as anybody collects.
  void beforeCollect(std::function<void()> sample);

  std::vector<prometheus::MetricFamily> Collect() const override;

  // Of its histograms.
  Exemplars& exemplars() { return exemplars_; }
  const Exemplars& exemplars() const { return exemplars_; }

 private:
  Exemplars exemplars_;
  mutable Mutex mutex_;
  std::vector<std::function<void()>> samples_ KILN_GUARDED_BY(mutex_);
};

// Brings a counter to a total that is counted elsewhere. A total below its value changes nothing. By one
// thread at a time.
void raiseTo(prometheus::Counter& counter, double total);

}  // namespace kiln::telemetry
