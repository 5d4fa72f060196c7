#include "storage/telemetry/exemplars.h"

#include <algorithm>

namespace kiln::telemetry {

void Exemplars::note(const std::string& metric, const Labels& labels, Exemplar exemplar) {
  const MutexLock lock(mutex_);
  const std::pair key(metric, labels);
  if (series_.size() >= kMaxSeries && !series_.contains(key)) return;
  std::deque<Exemplar>& kept = series_[key];
  kept.push_front(std::move(exemplar));
  if (kept.size() > kMaxOfSeries) kept.pop_back();
}

std::optional<Exemplar> Exemplars::find(const std::string& metric, const Labels& labels, double low,
                                        double high) const {
  const MutexLock lock(mutex_);
  const auto series = series_.find({metric, labels});
  if (series == series_.end()) return std::nullopt;
  const auto found = std::ranges::find_if(
      series->second, [&](const Exemplar& one) { return one.value > low && one.value <= high; });
  return found == series->second.end() ? std::nullopt : std::optional(*found);
}

}  // namespace kiln::telemetry
