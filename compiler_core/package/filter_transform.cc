#include "compiler_core/package/filter_transform.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace kiln::package {
namespace {

constexpr std::int64_t kWindow = 3;

// G: a row per point. Each number of a result is a sum of three exact or once rounded products.
using Row = std::array<double, kWindow>;
constexpr Row kTwo[] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
constexpr Row kFour[] = {{1.0 / 4, 0, 0},
                         {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                         {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                         {1.0 / 24, 1.0 / 12, 1.0 / 6},
                         {1.0 / 24, -1.0 / 12, 1.0 / 6},
                         {0, 0, 1}};

// Without a fused operation in the place of a product and a sum, whatever the compiler may do elsewhere.
double sumOf(const Row& row, double a, double b, double c) {
  volatile double first = row[0] * a, second = row[1] * b, third = row[2] * c;
  return first + second + third;
}

}  // namespace

std::uint64_t transformedFilterBytes(std::uint64_t bytes, std::int64_t m) {
  return bytes / (kWindow * kWindow) * static_cast<std::uint64_t>((m + 2) * (m + 2));
}

Result<std::vector<std::uint8_t>> transformFilters(Bytes weight, std::int64_t results, std::int64_t channels,
                                                   std::int64_t m, std::int64_t lanes) {
  if ((m != 2 && m != 4) || lanes < 1 || results < 0 || channels < 0 || results % lanes != 0 ||
      weight.size() != static_cast<std::size_t>(results * channels * kWindow * kWindow) * sizeof(float))
    return fail(Code::kInternal, fmt::format("{} bytes are no windows of {} x {} channels in panels of {}",
                                             weight.size(), results, channels, lanes));
  const Row* const g = m == 2 ? kTwo : kFour;
  const std::int64_t side = m + 2;
  std::vector<std::uint8_t> made(transformedFilterBytes(weight.size(), m));
  for (std::int64_t result = 0; result < results; ++result)
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      float window[kWindow][kWindow];
      std::memcpy(window,
                  weight.data() + static_cast<std::size_t>(result * channels + channel) * sizeof window,
                  sizeof window);
      double down[6][kWindow];  // G g
      for (std::int64_t i = 0; i < side; ++i)
        for (std::int64_t x = 0; x < kWindow; ++x)
          down[i][x] = sumOf(g[i], window[0][x], window[1][x], window[2][x]);
      for (std::int64_t i = 0; i < side; ++i)
        for (std::int64_t j = 0; j < side; ++j) {
          const auto value = static_cast<float>(sumOf(g[j], down[i][0], down[i][1], down[i][2]));
          const std::int64_t place =
              ((result / lanes * side * side + i * side + j) * channels + channel) * lanes + result % lanes;
          std::memcpy(made.data() + static_cast<std::size_t>(place) * sizeof value, &value, sizeof value);
        }
    }
  return made;
}

}  // namespace kiln::package
