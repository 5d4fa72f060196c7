// Patterns of names in the access file.
#pragma once

#include <string_view>

namespace kiln::access {

// Whether `text` is `pattern`, in which every '*' stands for any characters, none included. Takes time
// proportional to both lengths.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace kiln::access
