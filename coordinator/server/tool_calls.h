// Calls of tools that speak the Remote Execution API and say what they are (RequestMetadata), in the log and
// in spans: which tool, which run of it, which action. All of it is the caller's word, and nothing is decided
// by it.
#pragma once

#include <grpcpp/server_context.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/drivers/execution_intake.h"
#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"
#include "storage/tracing/span.h"

namespace kiln::server {

// Who makes a call, in its own words.
struct CallingTool {
  service::ToolFacts facts;
  std::string traceparent;  // as it came: "" for none, or anything
  std::string peer;
};
// Of a call of REAPI's services or ByteStream that brings RequestMetadata; nothing of another.
std::optional<CallingTool> callingTool(std::string_view method, const grpc::ServerContextBase& context);

struct EndedCall {
  std::string_view method;  // "/package.Service/Rpc"
  int code = 0;             // of gRPC; 0 is OK
  Duration took{};
  const std::optional<CallingTool>& tool;
};

// What the calls may bring into the log and the trace: they come by thousands, and anybody may say anything.
struct ToolCallLimits {
  std::size_t invocations = 1000;  // that are told of in `window`, each once
  Duration window = std::chrono::minutes(10);
  int failures = 20;  // lines a second
  int spans = 100;    // a second; those of jobs come beside
};

// Thread safe. The log gets `tool calls`, of the first call of a tool's run and again after the window, with
// tool, invocation, correlated, rpc and peer; and `call of a tool failed` with code, action and target
// besides, but not for what a cache lacks, nor for a call given up. A span `call` is in the caller's trace,
// or else in a trace of its own. Which of them are told is chosen at random, by the share.
class ToolCalls {
 public:
  // `clock` and `sink`, which may be null, must outlive it.
  ToolCalls(const Clock& clock, tracing::SpanSink* sink, double share, const ToolCallLimits& limits = {})
      : clock_(clock), sink_(sink), share_(share), limits_(limits) {}

  void ended(const EndedCall& call);

 private:
  struct Second {
    TimePoint began{};
    int count = 0;
  };

  bool isNews(const service::ToolFacts& facts, TimePoint now);
  // Of a count of this class; so many in its second.
  bool mayTell(Second ToolCalls::* counted, int most, TimePoint now);
  void trace(const EndedCall& call, TimePoint now);

  const Clock& clock_;
  tracing::SpanSink* const sink_;
  const double share_;
  const ToolCallLimits limits_;
  Mutex mutex_;
  TimePoint window_ KILN_GUARDED_BY(mutex_){};
  std::set<std::pair<std::string, std::string>> known_ KILN_GUARDED_BY(mutex_);  // tool, invocation
  Second failures_ KILN_GUARDED_BY(mutex_), spans_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::server
