// What a log does, for Prometheus and for whoever asks for its health.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <string>

#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"
#include "signing/sequencer/sequencer.h"

namespace kiln::signing {

// Thread safe, but for looks() and appended(). Metrics:
//   kiln_log_sequencing                             1 while this process sequences the log, else 0
//   kiln_log_tree_size                              entries that the last checkpoint covers
//   kiln_log_entries_total, kiln_log_checkpoints_total     since this process started
//   kiln_log_intake_seconds                         of each entry: from its signature to its checkpoint
//   kiln_log_append_seconds                         of each checkpoint: from the look at the intake on
//   kiln_log_last_checkpoint_timestamp_seconds      since the epoch; 0 for a log without any
//   kiln_log_witness_answers_total{witness,outcome} `outcome`: cosigned, unavailable, contradicted; the
//                                                   witnesses are those of --witness
class LogMetrics {
 public:
  // All must outlive it. `clock` tells the time of day, as that of the signer does; `steady` lengths of time.
  LogMetrics(prometheus::Registry& registry, const Clock& clock, const Clock& steady);

  // Sequencing begins with a log of `size` entries, whose checkpoint was published at `published`.
  void opened(std::uint64_t size, TimePoint published);
  // An append begins. On the thread of appended().
  void looks() { looked_ = steady_.now(); }
  // A checkpoint was published.
  void appended(const Appended& appended);
  void answered(const std::string& witness, const Status& cosigned);
  // Nothing is sequenced for now.
  void waits(const std::string& why);

  // kUnavailable, with what the log waits for, while it sequences nothing.
  Status health();

 private:
  const Clock& clock_;
  const Clock& steady_;
  prometheus::Gauge& sequencing_;
  prometheus::Gauge& size_;
  prometheus::Counter& entries_;
  prometheus::Counter& checkpoints_;
  prometheus::Histogram& intakeSeconds_;
  prometheus::Histogram& appendSeconds_;
  prometheus::Gauge& published_;
  prometheus::Family<prometheus::Counter>& answers_;
  TimePoint looked_{};  // steady
  Mutex mutex_;
  std::string why_ KILN_GUARDED_BY(mutex_) = "the log is being opened";  // "": it sequences
};

}  // namespace kiln::signing
