// Command lines to be pasted.
#pragma once

#include <string>
#include <string_view>

namespace kiln::client {

// `text` as one word of a POSIX shell, whatever bytes are in it but NUL. All is printable, and one line
// unless the word ends in a line feed, which no shell can say otherwise.
std::string shellWord(std::string_view text);

// An option with its value as words: one word where the value would look like an option.
std::string shellOption(std::string_view name, std::string_view value);

// A path as an argument that is no option.
std::string shellPath(std::string_view path);

}  // namespace kiln::client
