#include "tests/bench/simulator/figures.h"

#include <algorithm>

namespace kiln::fleet {

Spread spreadOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {values[values.size() / 2], values[values.size() * 99 / 100], values.back()};
}

double fairness(const std::vector<double>& shares) {
  double sum = 0, squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares == 0 ? 0 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

}  // namespace kiln::fleet
