// dialects_suite: runs the cases of TOSA and linalg that make_cases.py writes.
#include <algorithm>
#include <iostream>
#include <map>

#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "tests/conformance/command_line.h"
#include "tests/conformance/dialects/run_case.h"
#include "tests/conformance/report.h"

namespace kiln::conformance {
namespace {

struct Options : SuiteOptions {
  bool evaluate = false;
};

std::string encode(const CaseResult& result) {
  return Json{{"outcome", static_cast<int>(result.outcome)}, {"reason", result.reason}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}
CaseResult decode(const Isolated& isolated) {
  if (!isolated.failure.empty()) return {Outcome::kFailed, isolated.failure, {}};
  auto json = parseJson(isolated.text);
  if (!json) return {Outcome::kFailed, "no result: " + json.error().message, {}};
  return {static_cast<Outcome>(json->at("outcome").get<int>()), json->at("reason").get<std::string>(), {}};
}

std::vector<DialectsCase> choose(const std::vector<DialectsCase>& cases, const Options& options) {
  std::vector<DialectsCase> chosen;
  std::size_t matching = 0;
  for (const DialectsCase& one : cases) {
    const auto matches = [&](const std::string& filter) {
      return one.name.find(filter) != std::string::npos;
    };
    if (!options.filters.empty() && std::ranges::none_of(options.filters, matches)) continue;
    if (matching++ % options.every == 0) chosen.push_back(one);
  }
  return chosen;
}

// No times in it, so that the same results give the same bytes; of those that passed only how many.
Json reportOf(const std::vector<DialectsCase>& cases, const std::vector<CaseResult>& results,
              const Options& options) {
  std::map<std::string, std::map<std::string, int>> operations;
  std::map<std::string, int> totals{{"passed", 0}, {"failed", 0}, {"skipped", 0}};
  Json others = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const char* outcome = outcomeName(results[i].outcome);
    ++totals[outcome];
    ++operations[cases[i].operation][outcome];
    if (results[i].outcome != Outcome::kPassed)
      others.push_back({{"name", cases[i].name}, {"outcome", outcome}, {"reason", results[i].reason}});
  }
  return {{"how", options.evaluate ? "reference evaluator" : options.compile.target},
          {"totals", totals},
          {"operations", operations},
          {"cases", others}};
}

int run(const Options& options) {
  const auto all = readCases(options.suite);
  if (!all) return std::cerr << all.error().message << "\n", kExitNotFound;
  const std::vector<DialectsCase> cases = choose(*all, options);
  std::vector<CaseResult> results(cases.size());
  const auto work = [&](std::size_t index, const CompileOptions& compile) {
    return encode(options.evaluate ? evaluateDialects(cases[index]) : compileDialects(cases[index], compile));
  };
  runAll(cases.size(), options, work, [&](std::size_t index, const Isolated& isolated, const std::string&) {
    const CaseResult& result = (results[index] = decode(isolated));
    if (result.outcome != Outcome::kPassed || options.verbose)
      std::cout << (result.outcome == Outcome::kFailed ? "FAILED" : outcomeName(result.outcome)) << " "
                << cases[index].name << (result.reason.empty() ? "" : ": ") << result.reason << std::endl;
  });
  const Json report = reportOf(cases, results, options);
  if (!options.json.empty()) writeJson(options.json, report);
  const Json& totals = report["totals"];
  std::cout << totals["passed"] << " passed, " << totals["failed"] << " failed, " << totals["skipped"]
            << " skipped\n";
  return totals["failed"] == 0 && totals["skipped"] == 0 ? 0 : kExitCheck;
}

int main(int argc, char** argv) {
  CLI::App app(
      "Runs the cases of TOSA and linalg: each is compiled with kiln-cc, loaded in the runtime, run and "
      "compared; with "
      "--evaluate the reference evaluator runs it, from text and from bytecode, before and after the rewrite "
      "stage.",
      "dialects_suite");
  app.footer("Example: make_cases.py cases && dialects_suite --suite cases --evaluate --json report.json");
  Options options;
  addSuiteOptions(app, options)->required();
  app.add_flag("--evaluate", options.evaluate, "Use the reference evaluator");
  if (auto ended = parseCommandLine(app, argc, argv)) return *ended;
  return run(options);
}

}  // namespace
}  // namespace kiln::conformance

int main(int argc, char** argv) {
  return kiln::runMain("dialects_suite", [&] { return kiln::conformance::main(argc, argv); });
}
