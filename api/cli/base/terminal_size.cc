#include "api/cli/base/terminal_size.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

namespace kiln::cli {
namespace {

constexpr std::size_t kNarrowest = 20, kLowest = 4;  // that lines are fitted to

}  // namespace

std::optional<TerminalSize> terminalSize() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return std::nullopt;
  if (size.ws_col < kNarrowest) return std::nullopt;
  return TerminalSize{size.ws_col, size.ws_row < kLowest ? std::string::npos : size.ws_row};
}

}  // namespace kiln::cli
