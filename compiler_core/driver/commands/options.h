// Command lines of the driver's programs. Private to this folder.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

#include "compiler_core/driver/commands/command.h"

namespace kiln::driver {

// The options that say what is compiled, into `model`, whose `model` itself is the caller's to add.
void addModelOptions(CLI::App& app, ModelArguments& model);

// Parses; where that ends the program (--help, a mistake), its exit status.
std::optional<int> parseCommandLine(CLI::App& app, int argc, char** argv);

// Says on stderr why a command failed, for people and as a line of JSON; the program's exit status.
int finish(std::string_view program, const CommandResult& result);

}  // namespace kiln::driver
