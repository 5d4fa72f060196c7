// Text from outside, made fit for a message, a terminal and a log line.
#pragma once

#include <string>
#include <string_view>

namespace kiln {

// At most `limit` bytes; control characters (those that turn the direction of text too), what cannot be seen
// and anything but UTF-8 are replaced by '?'; "..." where it was cut.
std::string printable(std::string_view text, std::size_t limit = 200);
// printable() in double quotes.
std::string inQuotes(std::string_view text);

}  // namespace kiln
