// What the driver's programs say to people, on a terminal or in a log.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "manifest/base/printable.h"

namespace kiln::driver {

// One line. It quotes models, whose names may hold anything: what would move the cursor, begin another line
// or turn the direction of the text is '?' (manifest/base/printable.h). JSON escapes by itself and is not for
// this.
template <class... Arguments>
void printLine(std::FILE* to, fmt::format_string<Arguments...> form, Arguments&&... arguments) {
  const std::string line = fmt::format(form, std::forward<Arguments>(arguments)...);
  fmt::print(to, "{}\n", printable(line, std::string_view::npos));
}

}  // namespace kiln::driver
