// Looks at the queue from time to time, for Prometheus.
#pragma once

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coordinator/queue/queue_depth.h"
#include "coordinator/quota/quota_rules.h"
#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

// Thread safe. Metrics, as of the last look:
//   kiln_runs{kind,state}               `state`: queued, leased
//   kiln_runs_oldest_seconds{kind}      how long the oldest queued run has waited; 0 where none waits
//   kiln_instance_runs{kiln_instance,state}  of the instances that the quota file names; of these the first
//                                       hundred by name, all others are "other"
//   kiln_instance_runs_oldest_seconds{kiln_instance}  the same: how long the oldest has waited
class QueueWatch {
 public:
  // All must outlive it. `clock` is the one that queues; `steady` tells lengths of time.
  QueueWatch(postgres::Pool& database, const quota::Quotas& quotas, prometheus::Registry& registry,
             const Clock& clock, const Clock& steady);
  ~QueueWatch();

  // One look. The errors are those of the database, and the metrics stay as they were.
  Status look();

  // look() every fifteen seconds, or less often, so that it takes a fiftieth of the time at most; until
  // stop().
  void start();
  void stop();  // idempotent

 private:
  void show(const std::vector<queue::Depth>& depths) KILN_REQUIRES(looking_);
  void lookForEver();

  postgres::Pool& database_;
  const quota::Quotas& quotas_;
  const Clock& clock_;
  const Clock& steady_;
  prometheus::Family<prometheus::Gauge>& runs_;
  prometheus::Family<prometheus::Gauge>& oldest_;
  prometheus::Family<prometheus::Gauge>& instances_;
  prometheus::Family<prometheus::Gauge>& instancesOldest_;
  Mutex looking_;
  // By instance and whether leased.
  std::map<std::pair<std::string, bool>, prometheus::Gauge*> shown_ KILN_GUARDED_BY(looking_);
  std::map<std::string, prometheus::Gauge*> shownOldest_ KILN_GUARDED_BY(looking_);
  Mutex mutex_;
  Condition stopped_;
  bool stopping_ KILN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kiln::service
