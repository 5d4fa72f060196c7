// The names of the files that a run's outputs are written to.
#pragma once

#include <string>
#include <vector>

namespace kiln::cli {

// One for each of `names`, in their order, all different and fit for any file system: an output whose name is
// a plain one keeps it.
std::vector<std::string> outputFileNames(const std::vector<std::string>& names);

}  // namespace kiln::cli
