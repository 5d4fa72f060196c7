// stablehlo_suite: runs StableHLO's own conformance cases. Their data are not part of this repository; they
// are found by --suite.
#include <iostream>
#include <map>

#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "tests/conformance/command_line.h"
#include "tests/conformance/report.h"
#include "tests/conformance/stablehlo/run_case.h"

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

std::vector<StablehloCase> choose(const std::vector<StablehloCase>& cases, const Options& options) {
  std::vector<StablehloCase> chosen;
  std::size_t matching = 0;
  for (const StablehloCase& one : cases) {
    const auto matches = [&](const std::string& filter) {
      return one.name.find(filter) != std::string::npos;
    };
    if (!options.filters.empty() && std::ranges::none_of(options.filters, matches)) continue;
    if (matching++ % options.every == 0) chosen.push_back(one);
  }
  return chosen;
}

// No times in it, so that the same results give the same bytes; those that passed are counted alone.
Json reportOf(const std::vector<StablehloCase>& cases, const std::vector<CaseResult>& results,
              const Options& options) {
  std::map<std::string, std::map<std::string, int>> groups;
  std::map<std::string, int> totals{{"passed", 0}, {"failed", 0}, {"skipped", 0}};
  Json others = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const char* outcome = outcomeName(results[i].outcome);
    ++totals[outcome];
    ++groups[cases[i].name.substr(0, cases[i].name.find('/'))][outcome];
    if (results[i].outcome != Outcome::kPassed)
      others.push_back({{"name", cases[i].name}, {"outcome", outcome}, {"reason", results[i].reason}});
  }
  return {{"how", options.evaluate ? "reference evaluator" : options.compile.target},
          {"totals", totals},
          {"groups", groups},
          {"cases", others}};
}

// Those that did not pass although `earlier` does not list them.
int regressions(const Json& report, const Json& earlier) {
  std::map<std::string, bool> known;
  for (const Json& one : earlier.value("cases", Json::array())) known[one.value("name", "")] = true;
  int found = 0;
  for (const Json& one : report["cases"]) {
    if (known.contains(one.value("name", ""))) continue;
    std::cout << "REGRESSED " << one.value("name", "") << ": " << one.value("reason", "") << "\n";
    ++found;
  }
  return found;
}

int run(const Options& options) {
  auto corpus = StablehloCorpus::open(options.suite);
  if (!corpus) {
    std::cerr << corpus.error().message << "\n";
    return corpus.error().code == Code::kNotFound ? kExitNotFound : kExitUsage;
  }
  const std::vector<StablehloCase> cases = choose(corpus->cases(), options);
  std::vector<CaseResult> results(cases.size());
  const auto work = [&](std::size_t index, const CompileOptions&) {
    return encode(evaluateStablehlo(cases[index]));
  };
  runAll(cases.size(), options, work, [&](std::size_t index, const Isolated& isolated, const std::string&) {
    const CaseResult& result = results[index] = decode(isolated);
    if (result.outcome == Outcome::kFailed || options.verbose)
      std::cout << (result.outcome == Outcome::kFailed ? "FAILED" : outcomeName(result.outcome)) << " "
                << cases[index].name << (result.reason.empty() ? "" : ": ") << result.reason << std::endl;
  });
  const Json report = reportOf(cases, results, options);
  if (!options.json.empty()) writeJson(options.json, report);
  int worse = 0;
  if (!options.expect.empty()) {
    auto earlier = readJson(options.expect);
    if (!earlier) return std::cerr << earlier.error().message << "\n", kExitUsage;
    worse = regressions(report, *earlier);
  }
  const Json& totals = report["totals"];
  std::cout << totals["passed"] << " passed, " << totals["failed"] << " failed, " << totals["skipped"]
            << " skipped\n";
  return totals["failed"] == 0 && worse == 0 ? 0 : kExitCheck;
}

int main(int argc, char** argv) {
  CLI::App app(
      "Runs StableHLO's conformance cases in the reference evaluator, before and after the rewrite stage.",
      "stablehlo_suite");
  app.footer("Example: stablehlo_suite --suite stablehlo-cases.tar.zst --evaluate --json report.json");
  Options options;
  addSuiteOptions(app, options)->required();
  app.add_flag("--evaluate", options.evaluate, "Use the reference evaluator");
  if (auto ended = parseCommandLine(app, argc, argv)) return *ended;
  return run(options);
}

}  // namespace
}  // namespace kiln::conformance

int main(int argc, char** argv) {
  return kiln::runMain("stablehlo_suite", [&] { return kiln::conformance::main(argc, argv); });
}
