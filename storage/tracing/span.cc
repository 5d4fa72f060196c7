#include "storage/tracing/span.h"

namespace kiln::tracing {

Scope::Scope(SpanSink* sink, const std::optional<SpanContext>& parent, const char* name, const Clock& clock,
             SpanKind kind)
    : sink_(sink), clock_(clock) {
  if (!sink || !parent || !parent->sampled) return;
  span_.emplace();
  span_->self = {parent->trace, newSpanId(), true};
  span_->parent = parent->span;
  span_->name = name;
  span_->kind = kind;
  span_->start = clock.now();
}

Scope::~Scope() {
  if (!span_) return;
  span_->end = clock_.now();
  sink_->add(std::move(*span_));
}

std::optional<SpanContext> Scope::context() const {
  return span_ ? std::optional(span_->self) : std::nullopt;
}

std::string Scope::header() const {
  return span_ ? traceparent(span_->self) : "";
}

void Scope::note(const char* attribute, std::string value) {
  if (span_) span_->attributes.emplace_back(attribute, std::move(value));
}

void Scope::failed(const std::string& why) {
  if (span_) span_->error = why;
}

}  // namespace kiln::tracing
