// What a program with a small command line says to words that it cannot read; `kiln` and kiln-cc have more to
// say.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "manifest/base/exit_code.h"

namespace kiln {

// For what app.parse() threw. Prints help on standard output and returns 0, or "PROGRAM: error: <what>; see
// PROGRAM COMMAND --help" on standard error and returns kExitUsage.
inline int usageExit(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  std::string command = app.get_name();
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  std::fprintf(stderr, "%s: error: %s; see %s --help\n", app.get_name().c_str(), error.what(),
               command.c_str());
  return kExitUsage;
}

}  // namespace kiln
