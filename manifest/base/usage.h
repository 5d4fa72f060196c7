// How a program with a small command line reads its words, and what it says to those that it cannot; `kiln`
// and kiln-cc have more to say.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <string_view>

#include "manifest/base/exit_code.h"

namespace kiln {

// What is said of an option that was given without a value: most often a variable of the shell was not set,
// and the program would do as if nobody had asked for a policy, say. "" if there is none. The form "--name="
// is seen before parsing alone: CLI11 takes the next word for its value.
inline std::string emptyAssignment(int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    const std::string_view name = word.substr(0, word.size() - 1);
    if (word.ends_with('=') && name.starts_with("--") &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos)
      return std::string(name) + " is empty; leave it out, or give it a value";
  }
  return {};
}
inline std::string emptyValue(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty()) return option->get_name() + " is empty; leave it out, or give it a value";
  for (const CLI::App* command : app.get_subcommands())
    if (std::string wrong = emptyValue(*command); !wrong.empty()) return wrong;
  return {};
}

// As app.parse(), and throws a ParseError for an option without a value.
inline void parseWords(CLI::App& app, int argc, const char* const* argv) {
  const auto check = [](const std::string& wrong) {
    if (!wrong.empty()) throw CLI::ValidationError(wrong);
  };
  check(emptyAssignment(argc, argv));
  app.parse(argc, argv);
  check(emptyValue(app));
}

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
