// onnx_backend: runs the ONNX backend test suite, compiled or (with --evaluate) in the reference evaluator.
// The suite's data are not part of this repository; they are found by --suite.
#include <iostream>

#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "tests/conformance/command_line.h"
#include "tests/conformance/report.h"

namespace kiln::conformance {
namespace {

struct Options : SuiteOptions {
  std::string bars;
  bool evaluate = false, list = false;
};

// How a child tells its result.
std::string encode(const CaseResult& result) {
  return Json{{"outcome", static_cast<int>(result.outcome)}, {"reason", result.reason}, {"pins", result.pins}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}
CaseResult decode(const Isolated& isolated) {
  if (!isolated.failure.empty()) return {Outcome::kFailed, isolated.failure, {}};
  auto json = parseJson(isolated.text);
  if (!json) return {Outcome::kFailed, "no result: " + json.error().message, {}};
  return {static_cast<Outcome>(json->at("outcome").get<int>()), json->at("reason").get<std::string>(),
          json->at("pins").get<std::vector<std::string>>()};
}

std::vector<Reported> runCases(const std::vector<Case>& cases, const Options& options) {
  std::vector<Reported> reported;
  for (const Case& one : cases) reported.push_back({one, {}});
  const auto work = [&](std::size_t index, const CompileOptions& compile) {
    return encode(options.evaluate ? evaluateCase(cases[index]) : compileCase(cases[index], compile));
  };
  runAll(cases.size(), options, work, [&](std::size_t index, const Isolated& isolated, const std::string&) {
    CaseResult& result = reported[index].result;
    result = decode(isolated);
    if (result.outcome == Outcome::kFailed || options.verbose)
      std::cout << (result.outcome == Outcome::kFailed ? "FAILED" : outcomeName(result.outcome)) << " "
                << cases[index].name << (result.reason.empty() ? "" : ": ") << result.reason << std::endl;
  });
  return reported;
}

// Prints what does not hold; whether all does.
Result<bool> check(const std::vector<Reported>& reported, const Json& report, const Options& options) {
  std::vector<std::string> lines;
  if (!options.expect.empty()) {
    KILN_ASSIGN(const Json earlier, readJson(options.expect));
    for (const std::string& line : regressions(reported, earlier)) lines.push_back("REGRESSED " + line);
  }
  if (!options.bars.empty()) {
    KILN_ASSIGN(const Json bars, readJson(options.bars));
    for (const std::string& line : missedBars(report, bars)) lines.push_back("BAR " + line);
  }
  for (const std::string& line : lines) std::cout << line << "\n";
  return lines.empty();
}

int run(const Options& options) {
  auto suite = Suite::open(options.suite);
  if (!suite) {
    std::cerr << suite.error().message << "\n";
    return suite.error().code == Code::kNotFound ? kExitNotFound : kExitUsage;
  }
  const std::vector<Case> cases = choose(suite->cases(), options.filters, options.every);
  if (options.list) {
    for (const Case& one : cases) std::cout << one.name << "\n";
    return 0;
  }
  const auto reported = runCases(cases, options);
  const Json report = makeReport(reported, options.evaluate ? "reference evaluator" : options.compile.target);
  if (!options.json.empty()) writeJson(options.json, report);
  const auto holds = check(reported, report, options);
  if (!holds) return std::cerr << holds.error().message << "\n", kExitUsage;
  Json totals = report.value("totals", Json::object());
  const auto total = [&](const char* name) { return totals.value(name, 0); };
  for (const auto& [group, counts] : report["groups"].items())
    std::cout << group << ": " << counts["passed"] << " passed, " << counts["failed"] << " failed, "
              << counts["skipped"] << " skipped, " << counts["notComparable"] << " not comparable\n";
  std::cout << total("pinned") << " of those that passed had inputs pinned; " << total("notComparable")
            << " are random and not comparable\n";
  std::cout << total("passed") << " passed, " << total("failed") << " failed, " << total("skipped")
            << " skipped\n";
  return total("failed") == 0 && *holds ? 0 : kExitCheck;
}

int main(int argc, char** argv) {
  CLI::App app(
      "Runs the ONNX backend test suite: each case is compiled with kiln-cc, loaded in the runtime, run and "
      "compared; with --evaluate the reference evaluator runs it, before and after the rewrite stage.",
      "onnx_backend");
  app.footer("Example: onnx_backend --suite onnx-backend-1.22.0.tar.zst --json report.json");
  Options options;
  std::uint64_t memoryMiB = 8192;
  addSuiteOptions(app, options)->required();
  app.add_flag("--list", options.list, "Print the names of the cases");
  app.add_option("--bars", options.bars, "Fail unless the counts reach those of this file");
  app.add_option("--memory-limit", memoryMiB, "MiB of address space per process")->capture_default_str();
  app.add_flag("--evaluate", options.evaluate, "Use the reference evaluator");
  if (auto ended = parseCommandLine(app, argc, argv)) return *ended;
  options.limits.bytes = memoryMiB << 20;
  return run(options);
}

}  // namespace
}  // namespace kiln::conformance

int main(int argc, char** argv) {
  return kiln::runMain("onnx_backend", [&] { return kiln::conformance::main(argc, argv); });
}
