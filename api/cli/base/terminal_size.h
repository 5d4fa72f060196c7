// How much fits on the terminal.
#pragma once

#include <cstddef>
#include <optional>

namespace kiln::cli {

struct TerminalSize {
  std::size_t columns = 0, rows = 0;
};

// Of the terminal that stdout is; nothing where it is none, or one too narrow to be fitted to. Rows without
// end where they are too few.
std::optional<TerminalSize> terminalSize();

}  // namespace kiln::cli
