// Command lines of the driver's programs. Private to this folder.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

#include "compiler_core/driver/commands/command.h"

namespace kiln::driver {

// The options that say what is compiled, into `model`, whose `model` itself is the caller's to add.
void addModelOptions(CLI::App& app, ModelArguments& model);

// --params alone.
void addParameterOption(CLI::App& app, ModelPaths& model);

// How a program says why it failed: kiln-cc on stderr for people and, for the executor that started it, as a
// line of JSON behind that; a program for people in the one form or, on stdout, in the other.
enum class ErrorForm { kTextAndLine, kText, kJson };

// Parses; where that ends the program (--help, a mistake), its exit status.
std::optional<int> parseCommandLine(CLI::App& app, int argc, char** argv,
                                    ErrorForm form = ErrorForm::kTextAndLine);

// Says why a command failed; the program's exit status.
int finish(std::string_view program, const CommandResult& result, ErrorForm form = ErrorForm::kTextAndLine);

}  // namespace kiln::driver
