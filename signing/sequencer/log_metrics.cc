#include "signing/sequencer/log_metrics.h"

#include <algorithm>

namespace kiln::signing {
namespace {

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram& seconds(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(
      {}, prometheus::Histogram::BucketBoundaries{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60, 600});
}

double sinceEpoch(TimePoint time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

LogMetrics::LogMetrics(prometheus::Registry& registry, const Clock& clock, const Clock& steady)
    : clock_(clock),
      steady_(steady),
      sequencing_(gauge(registry, "kiln_log_sequencing", "1 while this process sequences the log")),
      size_(gauge(registry, "kiln_log_tree_size", "Entries that the last checkpoint covers")),
      entries_(counter(registry, "kiln_log_entries_total", "Entries that were appended")),
      checkpoints_(counter(registry, "kiln_log_checkpoints_total", "Checkpoints that were published")),
      intakeSeconds_(
          seconds(registry, "kiln_log_intake_seconds", "From an entry's signature to its checkpoint")),
      appendSeconds_(seconds(registry, "kiln_log_append_seconds", "What a checkpoint with entries took")),
      published_(gauge(registry, "kiln_log_last_checkpoint_timestamp_seconds",
                       "When the last checkpoint was published, since the epoch")),
      answers_(prometheus::BuildCounter()
                   .Name("kiln_log_witness_answers_total")
                   .Help("What witnesses answered, by witness and outcome")
                   .Register(registry)) {}

void LogMetrics::opened(std::uint64_t size, TimePoint published) {
  size_.Set(static_cast<double>(size));
  published_.Set(sinceEpoch(published));
  sequencing_.Set(1);
  const MutexLock lock(mutex_);
  why_.clear();
}

void LogMetrics::appended(const Appended& appended) {
  const TimePoint now = clock_.now();
  size_.Set(static_cast<double>(appended.size));
  entries_.Increment(static_cast<double>(appended.signedAt.size()));
  checkpoints_.Increment();
  published_.Set(sinceEpoch(now));
  appendSeconds_.Observe(std::chrono::duration<double>(steady_.now() - looked_).count());
  for (const TimePoint at : appended.signedAt)
    intakeSeconds_.Observe(std::max(0.0, std::chrono::duration<double>(now - at).count()));
}

void LogMetrics::answered(const std::string& witness, const Status& cosigned) {
  const char* outcome = cosigned                                   ? "cosigned"
                        : cosigned.error().code == Code::kDataLoss ? "contradicted"
                                                                   : "unavailable";
  answers_.Add({{"witness", witness}, {"outcome", outcome}}).Increment();
}

void LogMetrics::waits(const std::string& why) {
  sequencing_.Set(0);
  const MutexLock lock(mutex_);
  why_ = why;
}

Status LogMetrics::health() {
  const MutexLock lock(mutex_);
  if (why_.empty()) return {};
  return fail(Code::kUnavailable, "nothing is sequenced: " + why_);
}

}  // namespace kiln::signing
