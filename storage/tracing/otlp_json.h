// Spans as OTLP has them: an ExportTraceServiceRequest in the JSON encoding of OTLP/HTTP
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding; ids are hexadecimal there, times are
// decimal strings).
#pragma once

#include <span>
#include <string>

#include "storage/tracing/span.h"

namespace kiln::tracing {

// Who tells: the attributes of the resource.
struct Resource {
  std::string service;   // "kiln-coordinator"
  std::string instance;  // which of them: host and process
};

inline constexpr std::size_t kMaxSpanText = 1024;  // bytes of a value or an error

// Values from outside are made printable, and cut after kMaxSpanText.
std::string otlpJson(const Resource& resource, std::span<const Span> spans);

}  // namespace kiln::tracing
