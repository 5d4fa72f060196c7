// The coordinator's counters, for Prometheus.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <memory>
#include <optional>

#include "manifest/base/clock.h"
#include "storage/blob/sweep.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Thread safe. What each means: coordinator/METRICS.md.
class Metrics {
 public:
  explicit Metrics(prometheus::Registry& registry);

  void jobSubmitted(bool cached);
  void jobEnded(index::JobState state, Duration took);
  // `waited`: since the run was queued, if it was never leased before.
  void leaseGiven(index::ActionKind kind, std::optional<Duration> waited);
  // With a result that counts, or without one.
  void leaseEnded(index::ActionKind kind, bool good, Duration took);
  void leasesExpired(std::size_t count);
  void resultAccepted();
  void resultRefused();
  void artifactPublished();
  void setOpenJobs(std::size_t count);
  // Null if it failed.
  void garbageCollected(const storage::SweepReport* report, Duration took);

 private:
  prometheus::Family<prometheus::Counter>& jobs_;
  prometheus::Family<prometheus::Counter>& ended_;
  prometheus::Family<prometheus::Counter>& leases_;
  prometheus::Family<prometheus::Histogram>& waitSeconds_;
  prometheus::Family<prometheus::Histogram>& leaseSeconds_;
  prometheus::Family<prometheus::Counter>& results_;
  prometheus::Counter& artifacts_;
  prometheus::Gauge& open_;
  prometheus::Histogram& seconds_;
  prometheus::Family<prometheus::Counter>& collections_;
  prometheus::Counter& sweptBlobs_;
  prometheus::Counter& sweptBytes_;
  prometheus::Gauge& keptBytes_;
  prometheus::Gauge& collectionSeconds_;
};

}  // namespace kiln::service
