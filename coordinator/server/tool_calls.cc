#include "coordinator/server/tool_calls.h"

#include <grpcpp/support/status_code_enum.h>

#include "coordinator/farm/log.h"
#include "coordinator/rpc/request_metadata.h"
#include "coordinator/server/rpc_metrics.h"

namespace kiln::server {
namespace {

std::string rpcOf(const EndedCall& call) {
  return std::string(call.method.substr(call.method.starts_with('/') ? 1 : 0));
}

// A cache that lacks something and a caller who went away are no failures.
bool hasFailed(int code) {
  return code != grpc::StatusCode::OK && code != grpc::StatusCode::NOT_FOUND &&
         code != grpc::StatusCode::CANCELLED;
}

}  // namespace

std::optional<CallingTool> callingTool(std::string_view method, const grpc::ServerContextBase& context) {
  if (!method.starts_with("/build.bazel.remote.execution.v2.") && !method.starts_with("/google.bytestream."))
    return std::nullopt;
  CallingTool out{service::readToolFacts(service::toolHeaderOf(context)), service::traceparentOf(context),
                  context.peer()};
  if (out.facts == service::ToolFacts()) return std::nullopt;
  return out;
}

void ToolCalls::ended(const EndedCall& call) {
  if (!call.tool) return;
  const TimePoint now = clock_.now();
  const service::ToolFacts& facts = call.tool->facts;
  if (isNews(facts, now))
    service::logInfo("tool calls", {{"tool", facts.tool},
                                    {"invocation", facts.invocation},
                                    {"correlated", facts.correlated},
                                    {"rpc", rpcOf(call)},
                                    {"peer", call.tool->peer}});
  if (hasFailed(call.code) && mayTell(&ToolCalls::failures_, limits_.failures, now))
    service::logWarning("call of a tool failed", {{"rpc", rpcOf(call)},
                                                  {"code", rpcCodeName(call.code)},
                                                  {"tool", facts.tool},
                                                  {"invocation", facts.invocation},
                                                  {"correlated", facts.correlated},
                                                  {"action", facts.action},
                                                  {"target", facts.target},
                                                  {"peer", call.tool->peer}});
  trace(call, now);
}

bool ToolCalls::isNews(const service::ToolFacts& facts, TimePoint now) {
  const MutexLock lock(mutex_);
  if (now - window_ >= limits_.window) {
    known_.clear();
    window_ = now;
  }
  return known_.size() < limits_.invocations && known_.emplace(facts.tool, facts.invocation).second;
}

bool ToolCalls::mayTell(Second ToolCalls::* counted, int most, TimePoint now) {
  const MutexLock lock(mutex_);
  Second& second = this->*counted;
  if (now - second.began >= std::chrono::seconds(1)) second = {now, 0};
  return second.count++ < most;
}

void ToolCalls::trace(const EndedCall& call, TimePoint now) {
  if (!sink_) return;
  const auto caller = tracing::parseTraceparent(call.tool->traceparent);
  tracing::Span span;
  span.self = {caller ? caller->trace : tracing::newTraceId(), tracing::newSpanId(), true};
  if (!tracing::isSampled(tracing::hexOf(span.self.span), share_) ||
      !mayTell(&ToolCalls::spans_, limits_.spans, now))
    return;
  if (caller) span.parent = caller->span;
  span.name = "call";
  span.kind = tracing::SpanKind::kServer;
  span.start = now - call.took;
  span.end = now;
  if (hasFailed(call.code)) span.error = rpcCodeName(call.code);
  const service::ToolFacts& facts = call.tool->facts;
  for (const auto& [name, value] : {std::pair{"kiln.rpc", rpcOf(call)},
                                    {"kiln.tool", facts.tool},
                                    {"kiln.invocation", facts.invocation},
                                    {"kiln.correlated", facts.correlated},
                                    {"kiln.clientAction", facts.action},
                                    {"kiln.clientTarget", facts.target}})
    if (!value.empty()) span.attributes.emplace_back(name, value);
  sink_->add(std::move(span));
}

}  // namespace kiln::server
