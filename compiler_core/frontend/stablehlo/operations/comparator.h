// What comparators of sorts compare by, as far as it is known by sight.
#pragma once

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// One key of a lexicographic order.
struct SortKey {
  ValueId value;  // what the comparator makes of the first element of a pair
  bool isDescending = false, isTotalOrder = false;
};

// The keys, the most significant first; empty where the comparator is none that is known. The same function
// of both elements is compared: x < y, or for several keys x1 < y1 or (x1 == y1 and ...).
std::vector<SortKey> sortKeysOf(const Region& comparator);

}  // namespace kiln::stablehlo
