// Where this user's programs keep what can be made again.
#pragma once

#include <string>

namespace kiln::cli {

// $KILN_CACHE, or kiln below $XDG_CACHE_HOME or ~/.cache; "" where no variable names any of them. It need not
// be there.
std::string cacheDirectory();

}  // namespace kiln::cli
