// Letters without regard to their case.
#pragma once

#include <string>
#include <string_view>

namespace kiln {

// 'A' to 'Z' as 'a' to 'z', whatever the locale; every other byte as it is, so that UTF-8 stays UTF-8.
std::string lower(std::string_view text);

}  // namespace kiln
