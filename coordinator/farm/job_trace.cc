#include "coordinator/farm/job_trace.h"

#include <algorithm>

#include "manifest/spec/action_kind.h"
#include "storage/index/jobs/job_repository.h"

namespace kiln::service {
namespace {

using tracing::Span;
using tracing::SpanContext;

std::optional<SpanContext> sampled(std::string_view traceparent) {
  const auto context = tracing::parseTraceparent(traceparent);
  return context && context->sampled ? context : std::nullopt;
}

bool mayBeTraced(const Tracing& tracing, const index::JobKey& job) {
  return tracing.sink && tracing::isSampled(job.id, tracing.share);
}

std::optional<SpanContext> spanOfJob(std::string_view trace, const std::string& id) {
  const auto submission = sampled(trace);
  if (!submission) return std::nullopt;
  return SpanContext{submission->trace, tracing::spanIdOf("job " + id), true};
}

std::string nameOf(const index::RunRecord& run) {
  return run.id + " " + std::to_string(run.epoch);
}

double secondsOf(Duration duration) {
  return std::max(0.0, std::chrono::duration<double>(duration).count());
}

void exemplify(const Tracing& tracing, const char* metric, const telemetry::Exemplars::Labels& labels,
               telemetry::Exemplar exemplar) {
  if (tracing.exemplars) tracing.exemplars->note(metric, labels, std::move(exemplar));
}

void describe(Span& span, const index::RunRecord& run) {
  span.attributes = {
      {"kiln.instance", run.instance},     {"kiln.job", run.jobId},
      {"kiln.action", run.action.hex()},   {"kiln.kind", std::string(actionKindName(run.kind))},
      {"kiln.target", run.target},         {"kiln.worker", run.worker},
      {"kiln.operator", run.operatorName}, {"kiln.attempt", std::to_string(run.attempts)}};
}

}  // namespace

std::string traceOfNewJob(const Tracing& tracing, const index::JobKey& job, std::string_view caller) {
  if (!mayBeTraced(tracing, job)) return "";
  const auto from = tracing::parseTraceparent(caller);
  const tracing::TraceId trace = from ? from->trace : tracing::newTraceId();
  return tracing::traceparent({trace, tracing::spanIdOf("submission " + job.id), true});
}

std::optional<SpanContext> spanOf(const index::JobRecord& job) {
  return job.trace.empty() ? std::nullopt : spanOfJob(job.trace, job.key.id);
}

std::optional<SpanContext> spanOf(const Tracing& tracing, postgres::Connection& connection,
                                  const index::JobKey& job) {
  if (!mayBeTraced(tracing, job)) return std::nullopt;
  const auto trace = index::traceOfJob(connection, job);
  return trace ? spanOfJob(*trace, job.id) : std::nullopt;
}

std::optional<SpanContext> spanOf(const Tracing& tracing, postgres::Pool& database,
                                  const index::JobKey& job) {
  if (!mayBeTraced(tracing, job)) return std::nullopt;
  auto connection = database.acquire();
  return connection ? spanOf(tracing, **connection, job) : std::nullopt;
}

std::optional<SpanContext> spanOf(const std::optional<SpanContext>& job, const index::RunRecord& run) {
  if (!job) return std::nullopt;
  return SpanContext{job->trace, tracing::spanIdOf("lease " + nameOf(run)), true};
}

void tellSubmitted(const Tracing& tracing, const index::JobRecord& job, std::string_view caller,
                   TimePoint began, TimePoint now,
                   const std::vector<std::pair<std::string, std::string>>& more) {
  const auto self = sampled(job.trace);
  if (!tracing.sink || !self) return;
  Span span{.self = *self,
            .parent = std::nullopt,
            .name = "submission",
            .kind = tracing::SpanKind::kServer,
            .start = began,
            .end = now,
            .attributes = {{"kiln.instance", job.key.instance}, {"kiln.job", job.key.id}},
            .error = {}};
  if (const auto from = tracing::parseTraceparent(caller); from && from->trace == self->trace)
    span.parent = from->span;
  for (const auto& attribute : more)
    if (!attribute.second.empty()) span.attributes.push_back(attribute);
  tracing.sink->add(std::move(span));
}

void tellEnded(const Tracing& tracing, const index::JobRecord& job, index::JobState state,
               const std::string& error, TimePoint now) {
  const auto self = spanOf(job);
  if (!tracing.sink || !self) return;
  exemplify(tracing, "kiln_job_seconds", {},
            {tracing::hexOf(self->trace), secondsOf(now - job.submitted), now});
  tracing.sink->add({.self = *self,
                     .parent = sampled(job.trace)->span,
                     .name = "job",
                     .start = job.submitted,
                     .end = now,
                     .attributes = {{"kiln.instance", job.key.instance},
                                    {"kiln.job", job.key.id},
                                    {"kiln.toolchain", job.toolchainLabel},
                                    {"kiln.state", std::to_string(static_cast<int>(state))}},
                     .error = error});
}

void tellQueued(const Tracing& tracing, const std::optional<SpanContext>& job, const index::RunRecord& run,
                TimePoint now) {
  if (!tracing.sink || !job) return;
  exemplify(tracing, "kiln_run_wait_seconds", {{"kind", std::string(actionKindName(run.kind))}},
            {tracing::hexOf(job->trace), secondsOf(now - run.queued), now});
  Span span{.self = {job->trace, tracing::spanIdOf("queue " + nameOf(run)), true},
            .parent = job->span,
            .name = "queue",
            .start = run.queued,
            .end = now,
            .attributes = {},
            .error = {}};
  describe(span, run);
  tracing.sink->add(std::move(span));
}

void tellLeased(const Tracing& tracing, const std::optional<SpanContext>& job, const index::RunRecord& run,
                TimePoint leased, TimePoint now, const std::string& error) {
  const auto self = spanOf(job, run);
  if (!tracing.sink || !self) return;
  exemplify(tracing, "kiln_lease_seconds",
            {{"kind", std::string(actionKindName(run.kind))}, {"outcome", error.empty() ? "good" : "bad"}},
            {tracing::hexOf(self->trace), secondsOf(now - leased), now});
  Span span{.self = *self,
            .parent = job->span,
            .name = "lease",
            .start = leased,
            .end = now,
            .attributes = {},
            .error = error};
  describe(span, run);
  tracing.sink->add(std::move(span));
}

}  // namespace kiln::service
