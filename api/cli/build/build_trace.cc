#include "api/cli/build/build_trace.h"

#include <cstdlib>

namespace kiln::cli {
namespace {

std::optional<tracing::SpanContext> contextOf(const char* traceparent) {
  return traceparent ? tracing::parseTraceparent(traceparent) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<BuildTrace>> BuildTrace::begin(const std::string& receiver) {
  const char* const variable = std::getenv("KILN_TRACES");
  KILN_ASSIGN(auto exporter, tracing::exportTo(receiver.empty() && variable ? variable : receiver, "kiln"));
  return std::unique_ptr<BuildTrace>(new BuildTrace(std::move(exporter), std::getenv("TRACEPARENT")));
}

BuildTrace::BuildTrace(std::unique_ptr<tracing::Exporter> exporter, const char* pipeline)
    : exporter_(std::move(exporter)),
      pipeline_(contextOf(pipeline)),
      build_{pipeline_ ? pipeline_->trace : tracing::newTraceId(), tracing::newSpanId(), true},
      submission_{build_.trace, tracing::newSpanId(), true} {}

client::SubmissionTrace* BuildTrace::submits() {
  if (!exporter_ && !pipeline_) return nullptr;
  submits_ = clock_.now();
  trace_.caller = tracing::traceparent(exporter_ ? submission_ : *pipeline_);
  return &trace_;
}

void BuildTrace::submitted() {
  submitted_ = clock_.now();
}

tracing::Span BuildTrace::span(const char* name, TimePoint start, TimePoint end) const {
  return {.self = {build_.trace, tracing::newSpanId(), true},
          .parent = build_.span,
          .name = name,
          .start = start,
          .end = end,
          .attributes = {},
          .error = {}};
}

BuildTrace::~BuildTrace() {
  // A job that was there already has a trace of its own.
  const auto job = tracing::parseTraceparent(trace_.job);
  if (!exporter_ || !job || !job->sampled || job->trace != build_.trace) return;
  tracing::Span build = span("kiln build", began_, clock_.now());
  build.self = build_;
  build.parent = pipeline_ ? std::optional(pipeline_->span) : std::nullopt;
  tracing::Span submission = span("SubmitJob", submits_, submitted_);
  submission.self = submission_;
  submission.kind = tracing::SpanKind::kClient;
  exporter_->add(span("upload", began_, submits_));
  exporter_->add(std::move(submission));
  exporter_->add(std::move(build));
}

}  // namespace kiln::cli
