// Shape profiles as commands take them.
#pragma once

#include "manifest/base/result.h"
#include "manifest/spec/compile_spec.h"

namespace kiln {

// The profiles that --profile options give, in the order of their first mention. Each option is
// "[PROFILE:]DIM=MIN:OPT:MAX[:MULTIPLE][,DIM=...]", with N for N:N:N; one without PROFILE belongs to
// "default" (a DIM with a ':' wants a PROFILE: dim_option.h). Without options one profile "default" without
// dimensions. kInvalidArgument names the option.
Result<std::vector<ShapeProfile>> parseProfiles(const std::vector<std::string>& options);

}  // namespace kiln
