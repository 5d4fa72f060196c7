// Metrics in the OpenMetrics text format, 1.0.0, which has exemplars
// (https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md).
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <string_view>
#include <vector>

#include "storage/telemetry/exemplars.h"

namespace kiln::telemetry {

inline constexpr char kOpenMetricsType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// Whether a client's Accept header names it.
bool acceptsOpenMetrics(std::string_view accept);

// Counters, gauges and histograms. A counter whose name does not end in "_total" is of unknown type there.
std::string openMetricsText(const std::vector<prometheus::MetricFamily>& families,
                            const Exemplars& exemplars);

}  // namespace kiln::telemetry
