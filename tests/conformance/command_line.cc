#include "tests/conformance/command_line.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "manifest/base/exit_code.h"
#include "tests/support/temp_directory.h"

namespace kiln::conformance {

void addRunOptions(CLI::App& app, RunOptions& options) {
  options.limits.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  app.add_option("--jobs", options.limits.jobs, "How many at a time")->check(CLI::PositiveNumber);
  app.add_option("--target", options.compile.target, "Target")->capture_default_str();
  app.add_option("--kiln-cc", options.compile.compiler, "The compiler (default: beside this program)");
  app.add_option("--time-limit", options.limits.seconds, "Seconds for each")->capture_default_str();
}

CLI::Option* addSuiteOptions(CLI::App& app, SuiteOptions& options) {
  CLI::Option* suite =
      app.add_option("--suite", options.suite, "Folder of cases or of groups of them, or a .tar.zst of one");
  app.add_option("--filter", options.filters,
                 "Only cases whose name contains this (repeatable: any of them)");
  app.add_option("--every", options.every, "Only every n-th of these")->check(CLI::PositiveNumber);
  app.add_flag("--verbose", options.verbose, "Print each case's outcome");
  app.add_option("--json", options.json, "Write the report here");
  app.add_option("--expect", options.expect, "Fail when a case does worse than in this report");
  addRunOptions(app, options);
  return suite;
}

std::optional<int> parseCommandLine(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return kExitUsage;
  }
  return std::nullopt;
}

Result<Json> readJson(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(Code::kNotFound, path + ": cannot be read");
  auto json = parseJson(std::string(std::istreambuf_iterator<char>(file), {}), {.bytes = 64u << 20});
  if (!json) return fail(json.error().in(path));
  return json;
}

void writeJson(const std::string& path, const Json& report) {
  std::ofstream(path) << report.dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
}

void runAll(std::size_t count, const RunOptions& options,
            const std::function<std::string(std::size_t, const CompileOptions&)>& work,
            const std::function<void(std::size_t, const Isolated&, const std::string& folder)>& done) {
  testing_support::TempDirectory scratch;
  const auto folder = [&](std::size_t index) { return scratch / std::to_string(index); };
  const auto inFolder = [&](std::size_t index) {
    CompileOptions compile = options.compile;
    compile.scratch = folder(index);
    std::filesystem::create_directory(compile.scratch);
    return work(index, compile);
  };
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  std::size_t ended = 0;
  isolate(count, options.limits, inFolder, [&](std::size_t index, const Isolated& isolated) {
    done(index, isolated, folder(index));
    std::error_code ignored;
    std::filesystem::remove_all(folder(index), ignored);
    ++ended;
    if (terminal) std::cerr << "\r" << ended << " of " << count << std::flush;
  });
  if (terminal) std::cerr << "\r";
}

}  // namespace kiln::conformance
