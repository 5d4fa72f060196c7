// onnx_backend: runs the ONNX backend test suite, compiled or (with --evaluate) in the reference evaluator.
// The suite's data are not part of this repository; they are found by --suite.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "manifest/base/exit_code.h"
#include "tests/conformance/isolate.h"
#include "tests/conformance/report.h"

namespace kiln::conformance {
namespace {

struct Options {
  std::string suite, json, bars, expect, compiler, target;
  std::vector<std::string> filters;
  std::size_t every = 1;
  bool evaluate = false, list = false, verbose = false;
  Limits limits;
  std::uint64_t memoryMiB = 8192;
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

std::vector<Reported> runAll(const std::vector<Case>& cases, const Options& options) {
  testing_support::TempDirectory scratch;
  std::vector<Reported> reported;
  for (const Case& one : cases) reported.push_back({one, {}});
  const auto folder = [&](std::size_t index) { return scratch / std::to_string(index); };
  const auto work = [&](std::size_t index) {
    if (options.evaluate) return encode(evaluateCase(cases[index]));
    std::filesystem::create_directory(folder(index));
    return encode(compileCase(cases[index], {options.compiler, options.target, folder(index)}));
  };
  std::size_t ended = 0;
  isolate(cases.size(), options.limits, work, [&](std::size_t index, const Isolated& isolated) {
    CaseResult& result = reported[index].result;
    result = decode(isolated);
    std::error_code ignored;
    std::filesystem::remove_all(folder(index), ignored);
    ++ended;
    if (result.outcome == Outcome::kFailed || options.verbose)
      std::cout << (result.outcome == Outcome::kFailed ? "FAILED" : outcomeName(result.outcome)) << " "
                << cases[index].name << (result.reason.empty() ? "" : ": ") << result.reason << std::endl;
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
  const auto reported = runAll(cases, options);
  const Json report = makeReport(reported, options.evaluate ? "reference evaluator" : options.target);
  if (!options.json.empty())
    std::ofstream(options.json) << report.dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
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
      "compared; "
      "with --evaluate the reference evaluator runs it, before and after the rewrite stage.",
      "onnx_backend");
  app.footer("Example: onnx_backend --suite onnx-backend-1.22.0.tar.zst --json report.json");
  Options options;
  options.target = hostTarget();
  options.compiler = compilerBeside();
  options.limits.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  app.add_option("--suite", options.suite, "Folder of cases or of groups of them, or a .tar.zst of one")
      ->required();
  app.add_option("--filter", options.filters,
                 "Only cases whose name contains this (repeatable: any of them)");
  app.add_option("--every", options.every, "Only every n-th of these")->check(CLI::PositiveNumber);
  app.add_flag("--list", options.list, "Print the names of the cases");
  app.add_flag("--verbose", options.verbose, "Print each case's outcome");
  app.add_option("--json", options.json, "Write the report here");
  app.add_option("--expect", options.expect, "Fail when a case no longer passes that did in this report");
  app.add_option("--bars", options.bars, "Fail unless the counts reach those of this file");
  app.add_option("--jobs", options.limits.jobs, "Cases at a time")->check(CLI::PositiveNumber);
  app.add_option("--target", options.target, "Target")->capture_default_str();
  app.add_option("--kiln-cc", options.compiler, "The compiler (default: beside this program)");
  app.add_option("--time-limit", options.limits.seconds, "Seconds per case")->capture_default_str();
  app.add_option("--memory-limit", options.memoryMiB, "MiB of address space per process")
      ->capture_default_str();
  app.add_flag("--evaluate", options.evaluate, "Use the reference evaluator");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return kExitUsage;
  }
  options.limits.bytes = options.memoryMiB << 20;
  return run(options);
}

}  // namespace
}  // namespace kiln::conformance

int main(int argc, char** argv) {
  return kiln::conformance::main(argc, argv);
}
