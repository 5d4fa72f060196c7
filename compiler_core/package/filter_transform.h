// Filters of convolutions of 3x3, transformed as Winograd's F(m x m, 3 x 3) multiplies with them: G g G' of
// each window g for the points 0, 1, -1, infinity (m = 2) and 2, -2 between them (m = 4). The weight layout
// of schedule/strategies/winograd; it stands here since neither this library nor measuring processes have
// MLIR.
#pragma once

#include <cstdint>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::package {

// What `bytes` of filters take transformed.
std::uint64_t transformedFilterBytes(std::uint64_t bytes, std::int64_t m);

// [results / lanes][(m + 2)^2][channels][lanes] numbers of f32 from [results][channels][3][3] of f32.
// Computed in f64 in a fixed order and rounded once: the same bytes everywhere. kInternal: `weight` has
// another size, m is neither 2 nor 4, or `lanes` does not divide `results`.
Result<std::vector<std::uint8_t>> transformFilters(Bytes weight, std::int64_t results, std::int64_t channels,
                                                   std::int64_t m, std::int64_t lanes);

}  // namespace kiln::package
