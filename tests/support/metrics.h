// What a registry says of a metric.
#pragma once

#include <prometheus/collectable.h>

#include <map>
#include <string>

namespace kiln::testing_support {

// The value of the counter or gauge `name` with exactly these labels, or how often the histogram was told
// something; -1 if there is none.
inline double metric(const prometheus::Collectable& registry, const std::string& name,
                     const std::map<std::string, std::string>& labels = {}) {
  for (const prometheus::MetricFamily& family : registry.Collect()) {
    if (family.name != name) continue;
    for (const prometheus::ClientMetric& one : family.metric) {
      std::map<std::string, std::string> found;
      for (const auto& label : one.label) found[label.name] = label.value;
      if (found != labels) continue;
      switch (family.type) {
        case prometheus::MetricType::Counter:
          return one.counter.value;
        case prometheus::MetricType::Histogram:
          return static_cast<double>(one.histogram.sample_count);
        default:
          return one.gauge.value;
      }
    }
  }
  return -1;
}

}  // namespace kiln::testing_support
