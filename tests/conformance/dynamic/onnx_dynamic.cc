// onnx_dynamic: the cases of the ONNX backend suite with symbolic dimensions, against their static compiles.
// The suite's data are not part of this repository; they are found by --suite.
#include <iostream>

#include "manifest/base/exit_code.h"
#include "tests/conformance/command_line.h"
#include "tests/conformance/dynamic/dynamic_report.h"
#include "tests/conformance/dynamic/own_cases.h"
#include "tests/conformance/random/evaluate.h"

namespace kiln::conformance {
namespace {

struct Options : SuiteOptions {
  std::string coverage, reasons;
};

void print(const Case& one, const DynamicResult& result, bool verbose) {
  if (!result.wrong.empty()) std::cout << "WRONG " << one.name << ": " << result.wrong << std::endl;
  if (!verbose) return;
  if (!result.excluded.empty()) std::cout << "excluded " << one.name << ": " << result.excluded << std::endl;
  for (const DynamicDims& dims : result.dims)
    std::cout << (dims.reason.empty() ? "served " : "refused ") << one.name << " " << dims.dims
              << (dims.reason.empty() ? "" : ": ") << dims.reason << std::endl;
}

std::vector<DynamicReported> runCases(const std::vector<Case>& cases, const Options& options) {
  std::vector<DynamicReported> reported;
  for (const Case& one : cases) reported.push_back({one, {}});
  const auto work = [&](std::size_t index, const CompileOptions& compile) {
    return encode(dynamicCase(cases[index], compile));
  };
  runAll(cases.size(), options, work, [&](std::size_t index, const Isolated& isolated, const std::string&) {
    DynamicResult& result = reported[index].result;
    if (isolated.failure.empty())
      result = decode(isolated.text);
    else
      result.wrong = isolated.failure;
    print(cases[index], result, options.verbose);
  });
  return reported;
}

Result<std::vector<std::string>> missed(const std::vector<DynamicReported>& reported,
                                        const Options& options) {
  if (options.expect.empty()) return std::vector<std::string>();
  KILN_ASSIGN(const Json earlier, readJson(options.expect));
  return regressions(reported, earlier);
}

int coverage(const Options& options) {
  const auto report = readJson(options.coverage), reasons = readJson(options.reasons);
  if (!report || !reasons) {
    std::cerr << (report ? reasons : report).error().message << "\n";
    return kExitUsage;
  }
  const auto importer = random::servedOperators();
  const auto lines = uncovered(importer, *report, *reasons);
  for (const std::string& line : lines) std::cout << line << "\n";
  std::cout << importer.size() << " operators of the importer, " << reasons->size()
            << " of them without a dynamic case and with a reason\n";
  return lines.empty() ? 0 : kExitCheck;
}

int run(const Options& options) {
  auto suite = Suite::open(options.suite);
  if (!suite) {
    std::cerr << suite.error().message << "\n";
    return suite.error().code == Code::kNotFound ? kExitNotFound : kExitUsage;
  }
  const testing_support::TempDirectory own;
  std::vector<Case> cases = suite->cases();
  // The expansion of a function uses operators that have cases of their own.
  std::erase_if(cases, [](const Case& one) { return one.name.find("_expanded") != std::string::npos; });
  for (Case& one : ownCases(own.path())) cases.push_back(std::move(one));
  const auto reported = runCases(choose(cases, options.filters, options.every), options);
  const Json report = makeReport(reported, options.compile.target);
  if (!options.json.empty()) writeJson(options.json, report);
  const auto lines = missed(reported, options);
  if (!lines) return std::cerr << lines.error().message << "\n", kExitUsage;
  for (const std::string& line : *lines) std::cout << "REGRESSED " << line << "\n";
  const Json& totals = report["totals"];
  std::cout << totals["runs"] << " runs compared with static compiles, " << totals["sameBits"]
            << " of them the same bits\n"
            << totals["served"] << " served, " << totals["partly"] << " partly, " << totals["refused"]
            << " refused, " << totals["excluded"] << " excluded, " << totals["wrong"] << " wrong\n";
  return totals["wrong"] == 0 && lines->empty() ? 0 : kExitCheck;
}

int main(int argc, char** argv) {
  CLI::App app(
      "Runs the ONNX backend test suite's cases with symbolic dimensions: each is compiled once for a "
      "profile, "
      "run at its ends, at the case's own size and just outside, and compared with the static compile.",
      "onnx_dynamic");
  app.footer("Example: onnx_dynamic --suite onnx-backend-1.22.0.tar.zst --json report.json");
  Options options;
  options.limits.seconds = 900;  // a network takes a minute and a half of one idle core
  auto* suite = addSuiteOptions(app, options);
  auto* covered =
      app.add_option("--coverage", options.coverage,
                     "Run nothing: fail when an operator of the importer is neither served in this "
                     "report nor among the --reasons");
  app.add_option("--reasons", options.reasons, "{operator: why it has no dynamic case}")->needs(covered);
  suite->excludes(covered);
  if (auto ended = parseCommandLine(app, argc, argv)) return *ended;
  return options.coverage.empty() ? run(options) : coverage(options);
}

}  // namespace
}  // namespace kiln::conformance

int main(int argc, char** argv) {
  return kiln::conformance::main(argc, argv);
}
