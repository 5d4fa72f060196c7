// What the programs of this folder share: options, the loop over pieces of work, files of JSON.
#pragma once

#include <CLI/CLI.hpp>

#include "manifest/json/json.h"
#include "tests/conformance/isolate.h"
#include "tests/conformance/program.h"

namespace kiln::conformance {

// How each piece of work is compiled, and within which limits. `compile.scratch` is runAll's to fill in.
struct RunOptions {
  CompileOptions compile{compilerBeside(), hostTarget(), {}};
  Limits limits;
};
void addRunOptions(CLI::App& app, RunOptions& options);

// Which cases of the suite, and what to do with the report of them.
struct SuiteOptions : RunOptions {
  std::string suite, json, expect;
  std::vector<std::string> filters;
  std::size_t every = 1;
  bool verbose = false;
};
// The option --suite is returned: not every use of a program needs it.
CLI::Option* addSuiteOptions(CLI::App& app, SuiteOptions& options);

// Parses; where that ends the program (--help, a mistake), its exit status.
std::optional<int> parseCommandLine(CLI::App& app, int argc, char** argv);

Result<Json> readJson(const std::string& path);
void writeJson(const std::string& path, const Json& report);

// isolate() with a folder of its own for each piece, gone after `done`, and a count on a terminal.
void runAll(std::size_t count, const RunOptions& options,
            const std::function<std::string(std::size_t, const CompileOptions&)>& work,
            const std::function<void(std::size_t, const Isolated&, const std::string& folder)>& done);

}  // namespace kiln::conformance
