// stablehlo_suite: runs StableHLO's own conformance cases. Their data are not part of this repository; they
// are found by --suite.
#include <algorithm>
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

std::string encode(const StablehloResult& made) {
  return Json{{"outcome", static_cast<int>(made.result.outcome)},
              {"reason", made.result.reason},
              {"operations", made.operations}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}
StablehloResult decode(const Isolated& isolated) {
  if (!isolated.failure.empty()) return {{Outcome::kFailed, isolated.failure, {}}, {}};
  auto json = parseJson(isolated.text);
  if (!json) return {{Outcome::kFailed, "no result: " + json.error().message, {}}, {}};
  return {{static_cast<Outcome>(json->at("outcome").get<int>()), json->at("reason").get<std::string>(), {}},
          json->at("operations").get<std::vector<std::string>>()};
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

// No times in it, so that the same results give the same bytes; of those that passed only how many.
Json reportOf(const std::vector<StablehloCase>& cases, const std::vector<StablehloResult>& results,
              const Options& options) {
  std::map<std::string, std::map<std::string, int>> groups;
  std::map<std::string, std::map<std::string, int>> operations;
  std::map<std::string, int> totals{{"passed", 0}, {"failed", 0}, {"skipped", 0}};
  Json others = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const char* outcome = outcomeName(results[i].result.outcome);
    ++totals[outcome];
    ++groups[cases[i].name.substr(0, cases[i].name.find('/'))][outcome];
    for (const std::string& operation : results[i].operations) ++operations[operation][outcome];
    if (results[i].result.outcome != Outcome::kPassed)
      others.push_back({{"name", cases[i].name}, {"outcome", outcome}, {"reason", results[i].result.reason}});
  }
  return {{"how", options.evaluate ? "reference evaluator" : options.compile.target},
          {"totals", totals},
          {"groups", groups},
          {"operations", operations},
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
  std::vector<StablehloResult> results(cases.size());
  const auto work = [&](std::size_t index, const CompileOptions& compile) {
    return encode(options.evaluate ? evaluateStablehlo(cases[index])
                                   : compileStablehlo(cases[index], compile));
  };
  runAll(cases.size(), options, work, [&](std::size_t index, const Isolated& isolated, const std::string&) {
    const CaseResult& result = (results[index] = decode(isolated)).result;
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
      "Runs StableHLO's conformance cases: each is compiled with kiln-cc, loaded in the runtime, run and "
      "compared; with "
      "--evaluate the reference evaluator runs it, before and after the rewrite stage.",
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
