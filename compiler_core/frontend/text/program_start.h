// Whether a file is text of MLIR, whatever its dialect. No MLIR.
#pragma once

#include <optional>
#include <string_view>

namespace kiln::frontend {

// The text behind blanks and comments, where it begins as programs do: with a module, a function, or a name
// given to an attribute or a type ("#map = ", "!row = "). Nothing for binary files, notes in Markdown and the
// like. Reads the beginning alone.
std::optional<std::string_view> programIn(std::string_view text);

}  // namespace kiln::frontend
