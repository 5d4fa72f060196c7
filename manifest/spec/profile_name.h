// Names of shape profiles. Fixtures of a profile lie in a folder of its name, among a worker's outputs, so a
// name is one that every file system and the farm take.
#pragma once

#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

// kInvalidArgument, naming the rule, unless `name` has 1 to 200 letters, digits and other printable
// characters of ASCII, no '/' or '\', does not begin with '.', and is not "fixtures.json".
Status checkProfileName(std::string_view name);

}  // namespace kiln
