// The error of a tool that ran in a sandbox: the last line of its stderr.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

// {"error":{"code","message","details"}} in canonical JSON. `error.details` is taken over where it is JSON.
std::string errorLine(const Error& error);

// The error that the last line of `output` states; nothing if it states none.
std::optional<Error> readErrorLine(std::string_view output);

}  // namespace kiln
