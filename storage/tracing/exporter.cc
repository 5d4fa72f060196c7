#include "storage/tracing/exporter.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace kiln::tracing {
namespace {

std::string hostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// What waits takes no more memory than what is sent; a byte more says that there was more.
void cut(std::string& text) {
  if (text.size() > kMaxSpanText + 1) text = text.substr(0, kMaxSpanText + 1);
}

}  // namespace

Exporter::Exporter(Resource resource, Post post, const ExporterLimits& limits)
    : resource_(std::move(resource)),
      post_(std::move(post)),
      limits_(limits),
      thread_([this] { sendForEver(); }) {}

Exporter::~Exporter() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    until_ = std::chrono::steady_clock::now() + limits_.lastWords;
  }
  changed_.notifyAll();
  thread_.join();
}

void Exporter::add(Span span) {
  cut(span.error);
  for (auto& [key, value] : span.attributes) cut(value);
  const MutexLock lock(mutex_);
  if (waiting_.size() >= limits_.waiting) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(span));
  if (waiting_.size() == 1 || waiting_.size() == limits_.batch) changed_.notifyAll();
}

Exporter::Counts Exporter::counts() const {
  return {exported_, dropped_, failed_};
}

void Exporter::sendForEver() {
  for (;;) {
    const std::vector<Span> batch = next();
    if (batch.empty()) return;
    send(batch);
  }
}

std::vector<Span> Exporter::next() {
  MutexLock lock(mutex_);
  while (!stopping_ && waiting_.empty()) changed_.wait(mutex_);
  changed_.waitFor(mutex_, limits_.interval,
                   [this]() KILN_REQUIRES(mutex_) { return stopping_ || waiting_.size() >= limits_.batch; });
  const bool late = stopping_ && std::chrono::steady_clock::now() > until_;
  if (late) {
    failed_ += waiting_.size();
    return {};
  }
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), limits_.batch));
  std::vector<Span> batch(std::move_iterator(waiting_.begin()), std::move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  return batch;
}

void Exporter::send(const std::vector<Span>& batch) {
  const std::string request = otlpJson(resource_, batch);
  for (int attempt = 1;; ++attempt) {
    const Status sent = post_(request);
    if (sent) {
      exported_ += batch.size();
      return;
    }
    if (sent.error().code == Code::kUnavailable && attempt < limits_.attempts && pause(limits_.interval))
      continue;
    failed_ += batch.size();
    return;
  }
}

bool Exporter::pause(std::chrono::milliseconds length) {
  const MutexLock lock(mutex_);
  return !changed_.waitFor(mutex_, length, [this]() KILN_REQUIRES(mutex_) { return stopping_; });
}

Result<std::unique_ptr<Exporter>> exportTo(const std::string& url, const std::string& service) {
  if (url.empty()) return std::unique_ptr<Exporter>();
  KILN_TRY(checkReceiver(url));
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const ExporterLimits limits;
  return std::make_unique<Exporter>(Resource{service, hostName() + "/" + std::to_string(::getpid())},
                                    postTo(url, limits.timeout), limits);
}

void addTraceMetrics(telemetry::Registry& registry, const Exporter* exporter) {
  if (!exporter) return;
  auto& spans = prometheus::BuildCounter()
                    .Name("kiln_trace_spans_total")
                    .Help("Spans of traced jobs, by what became of them")
                    .Register(registry);
  auto& exported = spans.Add({{"outcome", "exported"}});
  auto& dropped = spans.Add({{"outcome", "dropped"}});
  auto& failed = spans.Add({{"outcome", "failed"}});
  registry.beforeCollect([exporter, &exported, &dropped, &failed] {
    const Exporter::Counts counts = exporter->counts();
    telemetry::raiseTo(exported, static_cast<double>(counts.exported));
    telemetry::raiseTo(dropped, static_cast<double>(counts.dropped));
    telemetry::raiseTo(failed, static_cast<double>(counts.failed));
  });
}

}  // namespace kiln::tracing
