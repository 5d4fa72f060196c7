// A job's trace, as far as coordinators tell of it (TRACES.md). Whether a job is traced follows from its id;
// its row has the span of its submission, from which every coordinator knows the others.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "manifest/base/clock.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/pool.h"
#include "storage/telemetry/exemplars.h"
#include "storage/tracing/span.h"

namespace kiln::service {

// Thread safe.
struct Tracing {
  tracing::SpanSink* sink = nullptr;          // must outlive whoever has it; null: nothing is traced
  double share = 0;                           // of the jobs, 0 to 1; the same at all coordinators of a farm
  telemetry::Exemplars* exemplars = nullptr;  // of the histograms of METRICS.md; null: nobody wants any
};

// What the row of a new job keeps: its submission's span as a traceparent, in the trace of `caller` (a
// traceparent, or anything else for none). "" if the job is not traced. No caller decides that.
std::string traceOfNewJob(const Tracing& tracing, const index::JobKey& job, std::string_view caller);

// The span that the job is, by its row; nothing if it is not traced.
std::optional<tracing::SpanContext> spanOf(const index::JobRecord& job);
// The same where the row is not at hand: asks the database for jobs that may be traced alone. Nothing as well
// where that cannot be asked: work does not wait for traces.
std::optional<tracing::SpanContext> spanOf(const Tracing& tracing, postgres::Connection& connection,
                                           const index::JobKey& job);
std::optional<tracing::SpanContext> spanOf(const Tracing& tracing, postgres::Pool& database,
                                           const index::JobKey& job);
// The span of this lease of a run, under its job's.
std::optional<tracing::SpanContext> spanOf(const std::optional<tracing::SpanContext>& job,
                                           const index::RunRecord& run);

// Spans that have ended. They do nothing for what is not traced.
// `more`: further attributes; those without a value are left out.
void tellSubmitted(const Tracing& tracing, const index::JobRecord& job, std::string_view caller,
                   TimePoint began, TimePoint now,
                   const std::vector<std::pair<std::string, std::string>>& more = {});
void tellEnded(const Tracing& tracing, const index::JobRecord& job, index::JobState state,
               const std::string& error, TimePoint now);
void tellQueued(const Tracing& tracing, const std::optional<tracing::SpanContext>& job,
                const index::RunRecord& run, TimePoint now);
// `error`: why it did not come to a result; "" if it did.
void tellLeased(const Tracing& tracing, const std::optional<tracing::SpanContext>& job,
                const index::RunRecord& run, TimePoint leased, TimePoint now, const std::string& error);

}  // namespace kiln::service
