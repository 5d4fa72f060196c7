// Spans: what was done, from when to when, and as part of what.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "manifest/base/clock.h"
#include "storage/tracing/trace_context.h"

namespace kiln::tracing {

// The numbers of OTLP's Span.SpanKind.
enum class SpanKind { kInternal = 1, kServer = 2, kClient = 3 };

struct Span {
  SpanContext self;
  std::optional<SpanId> parent;  // in the same trace; nothing: the trace begins with it
  std::string name;              // one of few: what differs from job to job stands in the attributes
  SpanKind kind = SpanKind::kInternal;
  TimePoint start, end;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string error;  // "" where it went well
};

// Takes spans that have ended. Thread safe.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  // Never waits: what there is no room for is dropped.
  virtual void add(Span span) = 0;
};

// Becomes a span as it ends, if there is a sink and what it is part of is sampled; else it does and allocates
// nothing. Not thread safe.
class Scope {
 public:
  // All must outlive it.
  Scope(SpanSink* sink, const std::optional<SpanContext>& parent, const char* name, const Clock& clock,
        SpanKind kind = SpanKind::kInternal);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // For what is part of it.
  std::optional<SpanContext> context() const;
  // The same as a header; "" for nothing.
  std::string header() const;
  bool on() const { return span_.has_value(); }
  void note(const char* attribute, std::string value);
  void failed(const std::string& why);

 private:
  SpanSink* const sink_;
  const Clock& clock_;
  std::optional<Span> span_;
};

}  // namespace kiln::tracing
