// The partition stage of a manifest for people.
#pragma once

#include <string>
#include <vector>

#include "manifest/json/json.h"

namespace kiln::cli {

// Which target runs what, what goes between targets, and what did not go where it was asked to. `facts` may
// hold anything: what is not as the compiler writes it is left out or shown as it is.
std::vector<std::string> partitionLines(const Json& facts);

}  // namespace kiln::cli
