// Sends spans away, on a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "manifest/base/mutex.h"
#include "manifest/base/result.h"
#include "storage/telemetry/registry.h"
#include "storage/tracing/otlp_http.h"
#include "storage/tracing/otlp_json.h"
#include "storage/tracing/span.h"

namespace kiln::tracing {

struct ExporterLimits {
  std::size_t waiting = 4096;                 // spans; those beyond are dropped
  std::size_t batch = 512;                    // spans that go together
  std::chrono::milliseconds interval{1000};   // until a batch that is not full goes
  int attempts = 3;                           // of a batch, an interval apart
  std::chrono::milliseconds timeout{2000};    // of one
  std::chrono::milliseconds lastWords{2000};  // for what waits as the exporter ends
};

// Thread safe. Work never waits for it, whatever becomes of the receiver.
class Exporter final : public SpanSink {
 public:
  // `post` is called on the exporter's own thread.
  Exporter(Resource resource, Post post, const ExporterLimits& limits = {});
  // Sends what waits, once, and joins the thread.
  ~Exporter() override;

  void add(Span span) override;

  struct Counts {
    std::uint64_t exported = 0;
    std::uint64_t dropped = 0;  // there was no room
    std::uint64_t failed = 0;   // the receiver did not take them
  };
  Counts counts() const;

 private:
  void sendForEver();
  // Takes the next batch; empty if there is none. Waits for a full one, an interval long at most.
  std::vector<Span> next();
  void send(const std::vector<Span>& batch);
  // Whether the exporter goes on after this long.
  bool pause(std::chrono::milliseconds length);

  const Resource resource_;
  const Post post_;
  const ExporterLimits limits_;
  std::atomic<std::uint64_t> exported_ = 0, dropped_ = 0, failed_ = 0;
  Mutex mutex_;
  Condition changed_;
  std::deque<Span> waiting_ KILN_GUARDED_BY(mutex_);
  bool stopping_ KILN_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point until_ KILN_GUARDED_BY(mutex_);  // when stopping
  std::thread thread_;
};

inline constexpr char kTracesHelp[] =
    "URL of an OTLP receiver, such as http://127.0.0.1:4318, for the spans of traced jobs; off by default";

// Of --traces: null for "". `service` names the program. kInvalidArgument naming the option.
Result<std::unique_ptr<Exporter>> exportTo(const std::string& url, const std::string& service);

// kiln_trace_spans_total{outcome}: exported, dropped, failed. `exporter` may be null, and else outlives the
// registry's collections.
void addTraceMetrics(telemetry::Registry& registry, const Exporter* exporter);

}  // namespace kiln::tracing
