// A matrix as the vector code of a product reads it: in panels of neighbouring columns, each panel's rows one
// behind the other, so that a block of registers goes through memory without a gap.
#pragma once

#include <cstdint>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::package {

struct MatrixSize {
  std::int64_t rows = 0, columns = 0;
  std::size_t elementBytes = 0;
};

// [ceil(columns / lanes)][rows][lanes] elements of the row-major `matrix`; what the last panel has beyond the
// columns is zeros. kInternal: `matrix` has another size, or a panel no lanes.
Result<std::vector<std::uint8_t>> inPanels(Bytes matrix, const MatrixSize& size, std::int64_t lanes);

}  // namespace kiln::package
