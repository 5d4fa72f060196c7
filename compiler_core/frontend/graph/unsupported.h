// The one error that lists everything a model needs and Kiln does not serve.
#pragma once

#include <vector>

#include "compiler_core/ir/evidence.h"
#include "manifest/base/result.h"

namespace kiln::frontend {

// kUnimplemented; the message names the first nodes, `details` is {"unsupported": [...]} with all of them.
Error unsupportedError(const std::vector<ir::UnsupportedNode>& nodes, std::int64_t total);

}  // namespace kiln::frontend
