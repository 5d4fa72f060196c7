#include "tests/conformance/dynamic/dynamic_report.h"

#include <algorithm>
#include <map>

#include "tests/conformance/random/evaluate.h"

namespace kiln::conformance {
namespace {

constexpr const char* kCounts[] = {"served", "partly", "refused", "excluded", "wrong"};

const char* outcomeOf(const DynamicResult& result) {
  if (!result.wrong.empty()) return "wrong";
  if (!result.excluded.empty()) return "excluded";
  if (result.served()) return result.refused() ? "partly" : "served";
  return "refused";
}

void count(Json& counts, const DynamicResult& result) {
  if (counts.is_null())
    for (const char* name : kCounts) counts[name] = 0;
  const auto add = [&](const char* name, int number) { counts[name] = counts.value(name, 0) + number; };
  add(outcomeOf(result), 1);
  add("runs", result.runs);
  add("sameBits", result.sameBits);
}

Json dimsOf(const DynamicResult& result) {
  Json dims = Json::array();
  for (const DynamicDims& one : result.dims) {
    Json entry = {{"dims", one.dims}};
    if (!one.reason.empty()) entry["reason"] = one.reason;
    dims.push_back(std::move(entry));
  }
  return dims;
}

}  // namespace

Json makeReport(const std::vector<DynamicReported>& cases, const std::string& how) {
  std::vector<Case> all;
  for (const DynamicReported& reported : cases) all.push_back(reported.one);
  const std::vector<About> about = describe(all);
  Json report = {
      {"how", how}, {"totals", Json::object()}, {"operators", Json::object()}, {"cases", Json::array()}};
  report["totals"] = Json();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& [one, result] = cases[i];
    const bool network = one.group != "node";
    count(report["totals"], result);
    Json entry = {{"case", one.name}, {"outcome", outcomeOf(result)}};
    if (!network && !about[i].op.empty()) {
      count(report["operators"][about[i].op], result);
      entry["operator"] = about[i].op;
    }
    if (!result.dims.empty()) entry["dims"] = dimsOf(result);
    if (!result.excluded.empty()) entry["reason"] = result.excluded;
    if (!result.wrong.empty()) entry["reason"] = result.wrong;
    report["cases"].push_back(std::move(entry));
  }
  if (cases.empty()) count(report["totals"], {.excluded = "no case"});
  return report;
}

std::vector<std::string> regressions(const std::vector<DynamicReported>& cases, const Json& earlier) {
  std::map<std::string, std::string> before;
  for (const Json& entry : earlier.at("cases"))
    before[entry.at("case").get<std::string>()] = entry.at("outcome").get<std::string>();
  const auto rank = [](const std::string& outcome) {
    return outcome == "served" ? 2 : outcome == "partly" ? 1 : 0;
  };
  std::vector<std::string> lines;
  for (const auto& [one, result] : cases) {
    const auto old = before.find(one.name);
    const std::string now = outcomeOf(result);
    if (old == before.end() || rank(now) >= rank(old->second)) continue;
    std::string reason = result.wrong + result.excluded;
    for (const DynamicDims& dims : result.dims)
      if (!dims.reason.empty()) reason += " " + dims.dims + ": " + dims.reason;
    lines.push_back(one.name + ": " + old->second + " before, now " + now + ": " + reason);
  }
  return lines;
}

std::vector<std::string> uncovered(const std::vector<std::string>& importer, const Json& report,
                                   const Json& reasons) {
  const Json& operators = report.at("operators");
  const auto served = [&](const std::string& name) {
    return operators.contains(name) &&
           operators.at(name).at("served").get<int>() + operators.at(name).at("partly").get<int>() > 0;
  };
  std::vector<std::string> lines;
  for (const std::string& name : importer)
    if (!served(name) && !std::ranges::any_of(reasons.items(), [&](const auto& one) {
          return random::isAbout(one.key(), name);
        }))
      lines.push_back(name + ": no case serves it with symbolic dimensions, and no reason is listed");
  for (const auto& [name, reason] : reasons.items())
    if (served(name) || reason.get<std::string>().empty() ||
        std::ranges::none_of(importer, [&](const std::string& one) { return random::isAbout(name, one); }))
      lines.push_back(name + ": its reason is empty or not needed");
  return lines;
}

std::string encode(const DynamicResult& result) {
  return Json{{"wrong", result.wrong},
              {"excluded", result.excluded},
              {"dims", dimsOf(result)},
              {"runs", result.runs},
              {"sameBits", result.sameBits}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

DynamicResult decode(const std::string& text) {
  const auto json = parseJson(text);
  if (!json) return {.wrong = "no result: " + json.error().message};
  DynamicResult result{.wrong = json->at("wrong"), .excluded = json->at("excluded")};
  for (const Json& entry : json->at("dims"))
    result.dims.push_back({entry.at("dims"), entry.value("reason", "")});
  result.runs = json->at("runs");
  result.sameBits = json->at("sameBits");
  return result;
}

}  // namespace kiln::conformance
