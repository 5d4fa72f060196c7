// Values of `kiln build`'s options, checked before anything is sent.
#pragma once

#include <optional>
#include <string>

#include "manifest/spec/delivery_spec.h"

namespace kiln::cli {

// kInvalidArgument for what is no target at all ("native" included). A well-formed target is the farm's to
// judge.
Status checkTarget(const std::string& target);

// --tune and --budget ("" for the default): nothing for "off". kInvalidArgument naming the option.
Result<std::optional<TuningRequest>> tuningOf(const std::string& tune, const std::string& budget);

// 32 random hex digits.
Result<std::string> newIdempotencyKey();

}  // namespace kiln::cli
