// Patterns of names, as rules and grants write them.
#pragma once

#include <string_view>

namespace kiln {

// Whether `text` is `pattern`, in which every '*' stands for any characters, none included. Takes no more
// time than the product of both lengths.
bool globMatches(std::string_view pattern, std::string_view text);

}  // namespace kiln
