#include "api/cli/base/colour.h"

#include <unistd.h>

#include <cstdlib>

namespace kiln::cli {
namespace {

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// SGR parameters of ECMA-48: bold with green, yellow or red.
const char* codeOf(Colour colour) {
  switch (colour) {
    case Colour::kGood:
      return "1;32";
    case Colour::kWarning:
      return "1;33";
    case Colour::kBad:
      return "1;31";
  }
  return "0";
}

}  // namespace

bool takesColour(int descriptor) {
  if (!variable("NO_COLOR").empty()) return false;
  if (const auto force = variable("CLICOLOR_FORCE"); !force.empty() && force != "0") return true;
  return ::isatty(descriptor) == 1 && variable("TERM") != "dumb";
}

bool isLiveTerminal() {
  return ::isatty(STDERR_FILENO) == 1 && variable("TERM") != "dumb";
}

std::string coloured(Colour colour, std::string_view text, int descriptor) {
  if (!takesColour(descriptor)) return std::string(text);
  return std::string("\x1b[") + codeOf(colour) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace kiln::cli
