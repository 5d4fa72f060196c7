// How a tool that ran in a sandbox says why it failed: the last line of its stderr.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln {

// {"error":{"code","message","details"}} in canonical JSON. `error.details` is taken over where it is JSON.
std::string errorLine(const Error& error);

}  // namespace kiln
