// Values of `kiln build`'s options, checked before anything is sent.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::cli {

// kInvalidArgument for what is no target at all ("native" included). A well-formed target is the farm's to
// judge.
Status checkTarget(const std::string& target);

// Only "off" is served; the message names that.
Status checkTune(const std::string& value);

// 32 random hex digits.
Result<std::string> newIdempotencyKey();

}  // namespace kiln::cli
