#include "tests/conformance/report.h"

#include <algorithm>
#include <map>
#include <set>

namespace kiln::conformance {
namespace {

constexpr const char* kCounts[] = {"passed", "failed", "skipped", "notComparable"};

// Lower case letters and digits alone: "reduce_log_sum" and "ReduceLogSum" become one.
std::string plain(std::string_view name) {
  std::string text;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c))) text += static_cast<char>(std::tolower(c));
  return text;
}

std::string operatorName(const onnx::Node& node) {
  return (node.domain.empty() || node.domain == "ai.onnx" ? "" : std::string(node.domain) + ":") +
         std::string(node.op);
}

// The operator of a graph of several nodes: none for the expansion of a function, which uses others instead;
// else the longest operator whose name the case's name starts with, else its first node's.
std::string operatorByName(const std::string& name, const std::set<std::string>& operators,
                           const std::string& first) {
  if (name.find("_expanded") != std::string::npos) return "";
  std::string about = name.substr(name.rfind('/') + 1);
  if (about.starts_with("test_")) about = about.substr(5);
  about = plain(about);
  std::string best;
  for (const std::string& op : operators)
    if (about.starts_with(plain(op)) && op.size() > best.size()) best = op;
  return best.empty() ? first : best;
}

void count(Json& counts, const CaseResult& result) {
  if (counts.is_null()) {
    for (const char* name : kCounts) counts[name] = 0;
    counts["pinned"] = 0;  // of those that passed
  }
  Json& one = counts[outcomeName(result.outcome)];
  one = one.get<int>() + 1;
  if (result.outcome == Outcome::kPassed && !result.pins.empty())
    counts["pinned"] = counts["pinned"].get<int>() + 1;
}

}  // namespace

std::vector<About> describe(const std::vector<Case>& cases) {
  std::vector<About> about(cases.size());
  std::set<std::string> operators;
  std::vector<std::size_t> graphs;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    graphs.push_back(i);
    auto loaded = onnx::loadModel(cases[i].model);
    if (!loaded) continue;
    const onnx::Graph& graph = loaded->model.graph;
    const auto& values = graph.inputs.empty() ? graph.outputs : graph.inputs;
    if (!values.empty() && values[0].isTensor) about[i].dtype = onnx::elementTypeName(values[0].type);
    for (const onnx::Node& node : graph.nodes) operators.insert(operatorName(node));
    if (!graph.nodes.empty()) about[i].op = operatorName(graph.nodes[0]);
    if (graph.nodes.size() == 1) graphs.pop_back();
  }
  for (std::size_t i : graphs) about[i].op = operatorByName(cases[i].name, operators, about[i].op);
  return about;
}

const char* outcomeName(Outcome outcome) {
  return kCounts[static_cast<std::size_t>(outcome)];
}

Json makeReport(const std::vector<Reported>& cases, const std::string& how) {
  std::vector<Case> all;
  for (const Reported& reported : cases) all.push_back(reported.one);
  const std::vector<About> about = describe(all);
  Json report = {
      {"how", how}, {"cases", Json::array()}, {"groups", Json::object()}, {"operators", Json::object()}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& [one, result] = cases[i];
    // Whole networks say little about one operator.
    const bool network = one.group != "node";
    const std::string& op = about[i].op;
    count(report["totals"], result);
    count(report["groups"][one.group], result);
    if (!network && !op.empty()) {
      count(report["operators"][op]["counts"], result);
      count(report["operators"][op]["types"][about[i].dtype.empty() ? "none" : about[i].dtype], result);
    }
    Json entry = {{"case", one.name}, {"outcome", outcomeName(result.outcome)}};
    if (!network && !op.empty()) entry["operator"] = op;
    if (!about[i].dtype.empty()) entry["type"] = about[i].dtype;
    if (!result.reason.empty()) entry["reason"] = result.reason;
    if (!result.pins.empty()) entry["pins"] = result.pins;
    report["cases"].push_back(std::move(entry));
  }
  return report;
}

std::vector<std::string> regressions(const std::vector<Reported>& cases, const Json& earlier) {
  std::set<std::string> open;
  for (const Json& entry : earlier.at("cases"))
    if (entry.at("outcome") != "passed") open.insert(entry.at("case").get<std::string>());
  std::vector<std::string> lines;
  for (const auto& [one, result] : cases)
    if (result.outcome != Outcome::kPassed && !open.contains(one.name))
      lines.push_back(one.name + ": passed before, now " + outcomeName(result.outcome) + ": " +
                      result.reason);
  return lines;
}

std::vector<std::string> missedBars(const Json& report, const Json& bars) {
  std::vector<std::string> missed;
  for (const auto& [group, bar] : bars.items()) {
    if (!report["groups"].contains(group)) continue;
    const Json& counts = report["groups"][group];
    const int passed = counts["passed"].get<int>(), failed = counts["failed"].get<int>();
    const int wanted = bar.value("passed", 0), allowed = bar.value("failed", 0);
    if (passed < wanted)
      missed.push_back(group + ": " + std::to_string(passed) + " passed, the bar is " +
                       std::to_string(wanted));
    if (failed > allowed)
      missed.push_back(group + ": " + std::to_string(failed) + " failed, the bar is " +
                       std::to_string(allowed));
  }
  return missed;
}

}  // namespace kiln::conformance
