// Colours for people who look at a terminal.
#pragma once

#include <string>
#include <string_view>

namespace kiln::cli {

enum class Colour { kGood, kWarning, kBad };

// Whether what goes to this descriptor (1 or 2) may be coloured: never where NO_COLOR is set to anything
// (no-color.org), always where CLICOLOR_FORCE is set and not "0" (bixense.com/clicolors), else where it is a
// terminal whose TERM is not "dumb". An empty variable counts as not set.
bool takesColour(int descriptor);

// Whether lines on stderr can be rewritten: it is a terminal, and TERM is not "dumb".
bool isLiveTerminal();

// `text`, which holds nothing that a terminal obeys, in bold and the colour, or as it is where `descriptor`
// takes none.
std::string coloured(Colour colour, std::string_view text, int descriptor);

}  // namespace kiln::cli
