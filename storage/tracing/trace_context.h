// Where a piece of work stands in a trace: W3C Trace Context, level 1
// (https://www.w3.org/TR/trace-context/#traceparent-header). It is for whoever watches a farm: nothing that
// is signed, hashed or decided depends on it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::tracing {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

struct SpanContext {
  TraceId trace{};
  SpanId span{};
  bool sampled = false;
  bool operator==(const SpanContext&) const = default;
};

// The header's name, of HTTP and of gRPC's metadata.
inline constexpr char kTraceparent[] = "traceparent";

// Nothing for what is no traceparent: an id of zeros, letters that are not small, another length. Of versions
// to come the part that this one has.
std::optional<SpanContext> parseTraceparent(std::string_view text);
std::string traceparent(const SpanContext& context);

// In small hexadecimal digits.
std::string hexOf(const TraceId& id);
std::string hexOf(const SpanId& id);
// The trace's id, for a log line; "" for what is no traceparent or not sampled.
std::string traceOf(std::string_view traceparent);

TraceId newTraceId();
SpanId newSpanId();
// From the SHA-256 of a name: the same for whoever knows it.
SpanId spanIdOf(std::string_view name);

// Whether `name` is among a share (0 to 1) of all names: the same answer everywhere, by its SHA-256.
bool isSampled(std::string_view name, double share);

}  // namespace kiln::tracing
