#include "storage/tracing/otlp_json.h"

#include <algorithm>

#include "manifest/base/printable.h"
#include "manifest/json/json.h"

namespace kiln::tracing {
namespace {

constexpr int kStatusError = 2;  // Status.StatusCode

Json attribute(const std::string& key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", printable(value, kMaxSpanText)}}}};
}

std::string nanoseconds(TimePoint time) {
  return std::to_string(
             std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count()) +
         "000";
}

Json spanJson(const Span& span) {
  Json attributes = Json::array();
  for (const auto& [key, value] : span.attributes) attributes.push_back(attribute(key, value));
  Json json{{"traceId", hexOf(span.self.trace)},
            {"spanId", hexOf(span.self.span)},
            {"name", span.name},
            {"kind", static_cast<int>(span.kind)},
            {"startTimeUnixNano", nanoseconds(span.start)},
            {"endTimeUnixNano", nanoseconds(std::max(span.start, span.end))},
            {"attributes", std::move(attributes)},
            {"status", Json::object()}};
  if (span.parent) json["parentSpanId"] = hexOf(*span.parent);
  if (!span.error.empty())
    json["status"] = {{"code", kStatusError}, {"message", printable(span.error, kMaxSpanText)}};
  return json;
}

}  // namespace

std::string otlpJson(const Resource& resource, std::span<const Span> spans) {
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(spanJson(span));
  Json scope{{"scope", {{"name", "kiln"}}}, {"spans", std::move(list)}};
  Json resourceSpans{{"resource",
                      {{"attributes",
                        {attribute("service.name", resource.service),
                         attribute("service.instance.id", resource.instance)}}}},
                     {"scopeSpans", Json::array({std::move(scope)})}};
  const Json request{{"resourceSpans", Json::array({std::move(resourceSpans)})}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kiln::tracing
