// Cases for operators that the backend suite has with constant shapes only: models whose constants leave the
// inputs' dimensions open. They have no outputs of their own; the static compile gives these.
#pragma once

#include "tests/conformance/suite.h"

namespace kiln::conformance {

// Writes the models and their inputs below `folder`. In group "node", named "own/test_...".
std::vector<Case> ownCases(const std::string& folder);

}  // namespace kiln::conformance
