// Texts of a program that the outside sees as names.
#pragma once

#include <string_view>

namespace kiln::stablehlo {

// Whether a text may name something: UTF-8 that a terminal shows as it stands. A name with NUL, control
// characters, or characters that cannot be seen or turn the direction of the text would make an artifact that
// nobody can name the inputs and outputs of.
bool isName(std::string_view text);

// The first of its bytes, at most `most`, without half a character at the end. `text` is UTF-8.
std::string_view cutName(std::string_view text, std::size_t most);

}  // namespace kiln::stablehlo
