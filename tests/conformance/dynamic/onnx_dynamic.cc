// onnx_dynamic: the cases of the ONNX backend suite with symbolic dimensions, against their static compiles.
// The suite's data are not part of this repository; they are found by --suite.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "manifest/base/exit_code.h"
#include "tests/conformance/dynamic/dynamic_report.h"
#include "tests/conformance/dynamic/own_cases.h"
#include "tests/conformance/isolate.h"
#include "tests/conformance/random/evaluate.h"

namespace kiln::conformance {
namespace {

struct Options {
  std::string suite, json, expect, coverage, reasons;
  std::vector<std::string> filters;
  std::size_t every = 1;
  bool verbose = false;
  CompileOptions compile;
  Limits limits{.seconds = 300};
};

void print(const Case& one, const DynamicResult& result, bool verbose) {
  if (!result.wrong.empty()) std::cout << "WRONG " << one.name << ": " << result.wrong << std::endl;
  if (!verbose) return;
  if (!result.excluded.empty()) std::cout << "excluded " << one.name << ": " << result.excluded << std::endl;
  for (const DynamicDims& dims : result.dims)
    std::cout << (dims.reason.empty() ? "served " : "refused ") << one.name << " " << dims.dims
              << (dims.reason.empty() ? "" : ": ") << dims.reason << std::endl;
}

std::vector<DynamicReported> runAll(const std::vector<Case>& cases, const Options& options) {
  testing_support::TempDirectory scratch;
  std::vector<DynamicReported> reported;
  for (const Case& one : cases) reported.push_back({one, {}});
  const auto folder = [&](std::size_t index) { return scratch / std::to_string(index); };
  const auto work = [&](std::size_t index) {
    CompileOptions compile = options.compile;
    compile.scratch = folder(index);
    std::filesystem::create_directory(compile.scratch);
    return encode(dynamicCase(cases[index], compile));
  };
  std::size_t ended = 0;
  isolate(cases.size(), options.limits, work, [&](std::size_t index, const Isolated& isolated) {
    DynamicResult& result = reported[index].result;
    if (isolated.failure.empty())
      result = decode(isolated.text);
    else
      result.wrong = isolated.failure;
    std::error_code ignored;
    std::filesystem::remove_all(folder(index), ignored);
    print(cases[index], result, options.verbose);
    ++ended;
    if (::isatty(STDERR_FILENO)) std::cerr << "\r" << ended << " of " << cases.size() << std::flush;
  });
  if (::isatty(STDERR_FILENO)) std::cerr << "\r";
  return reported;
}

Result<Json> readJson(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(Code::kNotFound, path + ": cannot be read");
  auto json = parseJson(std::string(std::istreambuf_iterator<char>(file), {}), {.bytes = 64u << 20});
  if (!json) return fail(json.error().in(path));
  return json;
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
  const auto reported = runAll(choose(cases, options.filters, options.every), options);
  const Json report = makeReport(reported, options.compile.target);
  if (!options.json.empty())
    std::ofstream(options.json) << report.dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
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
  options.compile.target = hostTarget();
  options.compile.compiler = compilerBeside();
  options.limits.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  auto* suite =
      app.add_option("--suite", options.suite, "Folder of cases or of groups of them, or a .tar.zst of one");
  auto* covered =
      app.add_option("--coverage", options.coverage,
                     "Run nothing: fail when an operator of the importer is neither served in this "
                     "report nor among the --reasons");
  app.add_option("--reasons", options.reasons, "{operator: why it has no dynamic case}")->needs(covered);
  suite->excludes(covered);
  app.add_option("--filter", options.filters,
                 "Only cases whose name contains this (repeatable: any of them)");
  app.add_option("--every", options.every, "Only every n-th of these")->check(CLI::PositiveNumber);
  app.add_flag("--verbose", options.verbose, "Print each case's outcome");
  app.add_option("--json", options.json, "Write the report here");
  app.add_option("--expect", options.expect, "Fail when a case is no longer served that was in this report");
  app.add_option("--jobs", options.limits.jobs, "Cases at a time")->check(CLI::PositiveNumber);
  app.add_option("--target", options.compile.target, "Target")->capture_default_str();
  app.add_option("--kiln-cc", options.compile.compiler, "The compiler (default: beside this program)");
  app.add_option("--time-limit", options.limits.seconds, "Seconds per case")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return kExitUsage;
  }
  return options.coverage.empty() ? run(options) : coverage(options);
}

}  // namespace
}  // namespace kiln::conformance

int main(int argc, char** argv) {
  return kiln::conformance::main(argc, argv);
}
