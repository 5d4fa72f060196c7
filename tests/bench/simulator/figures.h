// Figures from what was measured.
#pragma once

#include <vector>

namespace kiln::fleet {

struct Spread {
  double median = 0, p99 = 0, most = 0;
};
// All zero where there are no values.
Spread spreadOf(std::vector<double> values);

// Jain's fairness index (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984): 1 where all get the same, 1/n where
// one of n gets everything. 0 without shares.
double fairness(const std::vector<double>& shares);

}  // namespace kiln::fleet
