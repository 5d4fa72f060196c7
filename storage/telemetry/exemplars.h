// Examples of what a histogram has counted: the trace of one observation for each bucket.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"

namespace kiln::telemetry {

struct Exemplar {
  std::string trace;  // the trace's id, in hexadecimal digits
  double value = 0;
  TimePoint at;
};

// Thread safe. It keeps the last few of each series, and of a bounded number of series.
class Exemplars {
 public:
  using Labels = std::map<std::string, std::string>;

  void note(const std::string& metric, const Labels& labels, Exemplar exemplar);
  // The latest whose value is above `low` and at most `high`.
  std::optional<Exemplar> find(const std::string& metric, const Labels& labels, double low,
                               double high) const;

 private:
  static constexpr std::size_t kMaxSeries = 256, kMaxOfSeries = 32;

  mutable Mutex mutex_;
  std::map<std::pair<std::string, Labels>, std::deque<Exemplar>> series_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::telemetry
