// Numbers of things in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln {

// "1 entry", "2 entries", "0 entries": `one` is a noun as it stands behind 1, with what stands before it.
std::string counted(std::uint64_t count, std::string_view one);
// The noun alone, for a number that is written already: "entry" for "1".
std::string nounFor(std::string_view number, std::string_view one);

}  // namespace kiln
