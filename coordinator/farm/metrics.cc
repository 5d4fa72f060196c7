#include "coordinator/farm/metrics.h"

#include <algorithm>
#include <string>

#include "manifest/spec/action_kind.h"

namespace kiln::service {
namespace {

prometheus::Family<prometheus::Counter>& counters(prometheus::Registry& registry, const char* name,
                                                  const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Family<prometheus::Histogram>& histograms(prometheus::Registry& registry, const char* name,
                                                      const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

double secondsOf(Duration duration) {
  return std::max(0.0, std::chrono::duration<double>(duration).count());
}

}  // namespace

Metrics::Metrics(prometheus::Registry& registry)
    : jobs_(counters(registry, "kiln_jobs_submitted_total", "Jobs accepted, by whether the cache answered")),
      ended_(counters(registry, "kiln_jobs_ended_total", "Jobs ended, by how")),
      leases_(counters(registry, "kiln_leases_total", "Leases given to workers and lost by them")),
      waitSeconds_(histograms(registry, "kiln_run_wait_seconds", "From the queue to a run's first lease")),
      leaseSeconds_(
          histograms(registry, "kiln_lease_seconds", "From a lease to its end, by kind and outcome")),
      results_(counters(registry, "kiln_results_total", "Workers' results, by whether they were taken")),
      artifacts_(counters(registry, "kiln_publications_total", "Signed statements published").Add({})),
      open_(gauge(registry, "kiln_jobs_open", "Jobs that have not ended, at the last sweep")),
      seconds_(
          prometheus::BuildHistogram()
              .Name("kiln_job_seconds")
              .Help("From submission to end")
              .Register(registry)
              .Add({}, prometheus::Histogram::BucketBoundaries{.005, .05, .25, 1, 5, 30, 120, 600, 3600})),
      collections_(counters(registry, "kiln_gc_runs_total", "Collections of garbage, by how they ended")),
      sweptBlobs_(counters(registry, "kiln_gc_removed_blobs_total", "Blobs that were removed").Add({})),
      sweptBytes_(counters(registry, "kiln_gc_removed_bytes_total", "Bytes of removed blobs").Add({})),
      keptBytes_(
          gauge(registry, "kiln_gc_kept_bytes", "Bytes of blobs that the last collection left in the store")),
      collectionSeconds_(gauge(registry, "kiln_gc_seconds", "How long the last collection took")) {}

void Metrics::jobSubmitted(bool cached) {
  jobs_.Add({{"cached", cached ? "yes" : "no"}}).Increment();
}

void Metrics::jobEnded(index::JobState state, Duration took) {
  const char* how = state == index::JobState::kSucceeded ? "succeeded"
                    : state == index::JobState::kFailed  ? "failed"
                                                         : "cancelled";
  ended_.Add({{"state", how}}).Increment();
  seconds_.Observe(std::chrono::duration<double>(took).count());
}

void Metrics::leaseGiven(index::ActionKind kind, std::optional<Duration> waited) {
  leases_.Add({{"event", "given"}}).Increment();
  if (!waited) return;
  waitSeconds_
      .Add({{"kind", std::string(actionKindName(kind))}},
           prometheus::Histogram::BucketBoundaries{.005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 120, 600,
                                                   3600, 14400})
      .Observe(secondsOf(*waited));
}
void Metrics::leaseEnded(index::ActionKind kind, bool good, Duration took) {
  leaseSeconds_
      .Add({{"kind", std::string(actionKindName(kind))}, {"outcome", good ? "good" : "bad"}},
           prometheus::Histogram::BucketBoundaries{.05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 1200, 3600})
      .Observe(secondsOf(took));
}
void Metrics::leasesExpired(std::size_t count) {
  leases_.Add({{"event", "expired"}}).Increment(static_cast<double>(count));
}
void Metrics::resultAccepted() {
  results_.Add({{"taken", "yes"}}).Increment();
}
void Metrics::resultRefused() {
  results_.Add({{"taken", "no"}}).Increment();
}
void Metrics::artifactPublished() {
  artifacts_.Increment();
}
void Metrics::garbageCollected(const storage::SweepReport* report, Duration took) {
  collections_.Add({{"outcome", report ? "done" : "failed"}}).Increment();
  collectionSeconds_.Set(std::chrono::duration<double>(took).count());
  if (!report) return;
  sweptBlobs_.Increment(static_cast<double>(report->removedBlobs));
  sweptBytes_.Increment(static_cast<double>(report->removedBytes));
  keptBytes_.Set(static_cast<double>(report->keptBytes));
}
void Metrics::setOpenJobs(std::size_t count) {
  open_.Set(static_cast<double>(count));
}

}  // namespace kiln::service
