// What the farm calls files, as the user who gave them does.
#pragma once

#include <map>
#include <string>

namespace kiln::cli {

// A message of a compiler that ran in a farm, where a file that was given lies below input/
// ("input/params/0"), with the user's own names in it. `given`: from a path below input/ to what the user
// called it.
std::string asGiven(const std::string& message, const std::map<std::string, std::string>& given);

}  // namespace kiln::cli
