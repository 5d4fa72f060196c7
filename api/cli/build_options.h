// Values of `kiln build`'s options, checked before anything is sent.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "manifest/spec/compile_spec.h"

namespace kiln::cli {

// "name=min:opt:max", each about one symbolic dimension, into one profile called "default".
Result<ShapeProfile> parseProfile(const std::vector<std::string>& arguments);

// kInvalidArgument for what is no target at all ("native" included). A well-formed target is the farm's to
// judge.
Status checkTarget(const std::string& target);

// Only "off" and only "fail" are served; the message names that.
Status checkTune(const std::string& value);
Status checkFallback(const std::string& value);

// 32 random hex digits.
Result<std::string> newIdempotencyKey();

}  // namespace kiln::cli
