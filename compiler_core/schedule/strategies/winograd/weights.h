// Weights in the Winograd domain, as arguments of @main. The bytes: compiler_core/package/filter_transform.h.
// Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/analysis/weight_arguments.h"

namespace kiln::schedule {

// The argument that has `weight`, a buffer [K, C, 3, 3], transformed into the domain of Winograd's F(m x m, 3
// x 3), in panels of so many of the K: [panel][point][C][lane]. Made at the first call. K is a multiple of
// `lanes`.
mlir::Value inWinogradDomain(mlir::BlockArgument weight, std::int64_t m, std::int64_t lanes);

}  // namespace kiln::schedule
