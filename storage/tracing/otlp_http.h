// OTLP over HTTP: one POST for a batch of spans.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "manifest/base/result.h"

namespace kiln::tracing {

// Sends an ExportTraceServiceRequest, JSON. kUnavailable where another attempt may do better; any other
// error: the receiver does not want these spans. By one thread at a time.
using Post = std::function<Status(const std::string& request)>;

// kInvalidArgument if `url` is no http:// or https:// URL of a receiver, or holds a password, a query or a
// fragment.
Status checkReceiver(const std::string& url);

// To `url` with /v1/traces behind it. No redirects; an answer takes `timeout` at most, and nothing of it is
// kept.
Post postTo(const std::string& url, std::chrono::milliseconds timeout);

}  // namespace kiln::tracing
