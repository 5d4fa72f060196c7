// The one error that lists everything a program needs and Kiln does not serve.
#pragma once

#include <vector>

#include "compiler_core/ir/evidence.h"
#include "manifest/base/result.h"

namespace kiln::stablehlo {

// kUnimplemented; the message names the first places, `details` is {"unsupported": [...]} with all of them. `total`
// counts the operations of the program.
Error refusal(const std::vector<ir::UnsupportedNode>& places, std::int64_t total);

}  // namespace kiln::stablehlo
