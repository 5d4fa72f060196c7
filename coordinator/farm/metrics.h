// The coordinator's counters, for Prometheus.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <memory>

#include "manifest/base/clock.h"
#include "storage/blob/sweep.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Thread safe.
class Metrics {
 public:
  explicit Metrics(prometheus::Registry& registry);

  void jobSubmitted(bool cached);
  void jobEnded(index::JobState state, Duration took);
  void leaseGiven();
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
