// The trace that a build is part of, as far as this command tells of it.
#pragma once

#include <memory>
#include <string>

#include "api/client/client.h"
#include "manifest/base/clock.h"
#include "storage/tracing/exporter.h"

namespace kiln::cli {

// Made as the command begins. Its spans go once the command ends, and only if the farm traces the job: it
// decides. Nobody waits for their receiver for more than a moment, and what it does changes no exit code.
class BuildTrace {
 public:
  // `receiver`: URL of an OTLP receiver, of --traces or KILN_TRACES; "" for none. A pipeline that has a trace
  // of its own names it by TRACEPARENT, as other tools do. kInvalidArgument naming the option.
  static Result<std::unique_ptr<BuildTrace>> begin(const std::string& receiver);
  ~BuildTrace();

  // To be called around Client::submit(), with what goes with it; null where there is no trace.
  client::SubmissionTrace* submits();
  void submitted();

 private:
  BuildTrace(std::unique_ptr<tracing::Exporter> exporter, const char* pipeline);
  tracing::Span span(const char* name, TimePoint start, TimePoint end) const;

  const SystemClock clock_;
  const TimePoint began_ = clock_.now();
  const std::unique_ptr<tracing::Exporter> exporter_;  // null: only what the pipeline has goes along
  const std::optional<tracing::SpanContext> pipeline_;
  const tracing::SpanContext build_, submission_;  // spans of the command, and of its call
  client::SubmissionTrace trace_;
  TimePoint submits_, submitted_;
};

}  // namespace kiln::cli
