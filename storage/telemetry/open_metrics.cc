#include "storage/telemetry/open_metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace kiln::telemetry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr std::string_view kTotal = "_total";

std::string numberOf(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

// "1.0" and not "1": bounds have one spelling.
std::string boundOf(double value) {
  std::string text = numberOf(value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\n') {
      out += "\\n";
      continue;
    }
    if (letter == '\\' || letter == '"') out += '\\';
    out += letter;
  }
  return out;
}

// {a="b",le="0.5"}, or nothing; `bound` is "" for none.
std::string labelsOf(const ClientMetric& metric, const std::string& bound = "") {
  std::string out;
  for (const ClientMetric::Label& label : metric.label)
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", label.name, escaped(label.value));
  if (!bound.empty()) out += fmt::format("{}le=\"{}\"", out.empty() ? "" : ",", bound);
  return out.empty() ? out : "{" + out + "}";
}

std::string exemplarText(const std::optional<Exemplar>& exemplar) {
  if (!exemplar) return "";
  return fmt::format(" # {{trace_id=\"{}\"}} {} {:.3f}", exemplar->trace, numberOf(exemplar->value),
                     std::chrono::duration<double>(exemplar->at.time_since_epoch()).count());
}

void appendHistogram(std::string& out, const std::string& name, const ClientMetric& metric,
                     const Exemplars& exemplars) {
  Exemplars::Labels labels;
  for (const ClientMetric::Label& label : metric.label) labels[label.name] = label.value;
  double low = -std::numeric_limits<double>::infinity();
  for (const ClientMetric::Bucket& bucket : metric.histogram.bucket) {
    out += fmt::format("{}_bucket{} {}{}\n", name, labelsOf(metric, boundOf(bucket.upper_bound)),
                       bucket.cumulative_count,
                       exemplarText(exemplars.find(name, labels, low, bucket.upper_bound)));
    low = bucket.upper_bound;
  }
  out += fmt::format("{}_count{} {}\n", name, labelsOf(metric), metric.histogram.sample_count);
  out += fmt::format("{}_sum{} {}\n", name, labelsOf(metric), numberOf(metric.histogram.sample_sum));
}

void appendFamily(std::string& out, const MetricFamily& family, const Exemplars& exemplars) {
  const bool total = family.name.ends_with(kTotal);
  const bool histogram = family.type == MetricType::Histogram, counter = family.type == MetricType::Counter;
  const std::string name =
      counter && total ? family.name.substr(0, family.name.size() - kTotal.size()) : family.name;
  const char* type = counter && total                   ? "counter"
                     : histogram                        ? "histogram"
                     : family.type == MetricType::Gauge ? "gauge"
                                                        : "unknown";
  out += fmt::format("# TYPE {} {}\n# HELP {} {}\n", name, type, name, escaped(family.help));
  for (const ClientMetric& metric : family.metric) {
    if (histogram)
      appendHistogram(out, name, metric, exemplars);
    else
      out += fmt::format("{}{} {}\n", family.name, labelsOf(metric),
                         numberOf(counter ? metric.counter.value : metric.gauge.value));
  }
}

}  // namespace

bool acceptsOpenMetrics(std::string_view accept) {
  return accept.find("application/openmetrics-text") != std::string_view::npos;
}

std::string openMetricsText(const std::vector<MetricFamily>& families, const Exemplars& exemplars) {
  std::string out;
  for (const MetricFamily& family : families)
    if (!family.metric.empty()) appendFamily(out, family, exemplars);
  return out + "# EOF\n";
}

}  // namespace kiln::telemetry
