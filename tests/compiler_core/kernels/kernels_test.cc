// Each function of the library against the plainest implementation of its meaning, on data full of ties, NaN
// and indices outside their range.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "compiler_core/kernels/kkernels.h"

namespace kiln::kernels {
namespace {

template <class T>
T make(std::mt19937& random) {
  const int small = static_cast<int>(random() % 9) - 4;
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
    const float value = random() % 11 == 0 ? std::nanf("") : static_cast<float>(small);
    if constexpr (std::is_same_v<T, F16>)
      return toF16(value);
    else
      return toBF16(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return random() % 11 == 0   ? std::numeric_limits<T>::quiet_NaN()
           : random() % 11 == 1 ? T(-0.0)
                                : static_cast<T>(small);
  } else {
    return static_cast<T>(small);
  }
}

// Exact for every type: 64 bits of mantissa.
template <class T>
long double value(T x) {
  return static_cast<long double>(Number<T>::load(x));
}
// NaN above everything, for std::stable_sort.
bool less(long double a, long double b) {
  return a < b || (!std::isnan(a) && std::isnan(b));
}
bool same(long double a, long double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

struct Extents {
  I64 outer, n, inner;
};
const Extents kExtents[] = {{1, 1, 1}, {1, 100, 1}, {3, 17, 1}, {2, 33, 5}, {1, 1000, 1}, {4, 1, 3}};

template <class T>
std::vector<T> data(I64 count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> result;
  for (I64 i = 0; i < count; ++i) result.push_back(make<T>(random));
  return result;
}

template <class T, class F>
void checkSort(F function) {
  for (const auto [outer, n, inner] : kExtents) {
    for (const bool descending : {false, true}) {
      const auto input = data<T>(outer * n * inner, 1);
      std::vector<T> values(input.size());
      std::vector<I64> indices(input.size()), scratch(static_cast<std::size_t>(2 * n));
      function(input.data(), outer, n, inner, values.data(), outer, n, inner, indices.data(), outer, n, inner,
               scratch.data(), 2 * n, descending);
      for (I64 o = 0; o < outer; ++o) {
        for (I64 j = 0; j < inner; ++j) {
          const auto at = [&](I64 i) { return static_cast<std::size_t>((o * n + i) * inner + j); };
          std::vector<I64> want(static_cast<std::size_t>(n));
          std::iota(want.begin(), want.end(), 0);
          std::sort(want.begin(), want.end(), [&](I64 a, I64 b) {
            const long double x = value(input[at(a)]), y = value(input[at(b)]);
            return same(x, y) ? a < b : descending ? less(y, x) : less(x, y);
          });
          for (I64 i = 0; i < n; ++i) {
            ASSERT_EQ(indices[at(i)], want[static_cast<std::size_t>(i)]);
            ASSERT_TRUE(same(value(values[at(i)]), value(input[at(want[static_cast<std::size_t>(i)])])));
          }
        }
      }
    }
  }
}
#define KILN_CASE(suffix, T)          \
  TEST(Sort, suffix) {                \
    checkSort<T>(kiln_sort_##suffix); \
  }
KILN_KERNEL_NUMBERS(KILN_CASE)
#undef KILN_CASE

template <class T, class F>
void checkUnique(F function) {
  for (const auto [n, row] : {std::pair<I64, I64>{1, 1}, {60, 1}, {200, 2}, {50, 0}}) {
    for (const bool sorted : {false, true}) {
      const auto input = data<T>(n * row, 2);
      const auto size = static_cast<std::size_t>(n);
      std::vector<I64> indices(size, -1), inverse(size, -1), counts(size, -1), scratch(2 * size);
      I64 count = -1;
      function(input.data(), n, row, indices.data(), n, inverse.data(), n, counts.data(), n, &count,
               scratch.data(), 2 * n, sorted);
      // Rows by value, NaN last and equal to itself.
      const auto key = [&](I64 i) {
        std::vector<long double> values;
        for (I64 j = 0; j < row; ++j) {
          const long double x = value(input[static_cast<std::size_t>(i * row + j)]);
          values.push_back(std::isnan(x) ? std::numeric_limits<long double>::infinity() : x + 0.0L);
        }
        return values;
      };
      std::map<std::vector<long double>, std::vector<I64>> groups;
      std::vector<std::vector<I64>> want;
      for (I64 i = 0; i < n; ++i) groups[key(i)].push_back(i);
      for (const auto& [_, members] : groups) want.push_back(members);
      if (!sorted) std::sort(want.begin(), want.end());
      ASSERT_EQ(count, static_cast<I64>(want.size()));
      for (std::size_t g = 0; g < size; ++g) {
        ASSERT_EQ(indices[g], g < want.size() ? want[g][0] : 0);
        ASSERT_EQ(counts[g], g < want.size() ? static_cast<I64>(want[g].size()) : 0);
        if (g < want.size())
          for (const I64 member : want[g])
            ASSERT_EQ(inverse[static_cast<std::size_t>(member)], static_cast<I64>(g));
      }
    }
  }
}
#define KILN_CASE(suffix, T)              \
  TEST(Unique, suffix) {                  \
    checkUnique<T>(kiln_unique_##suffix); \
  }
KILN_KERNEL_NUMBERS(KILN_CASE)
#undef KILN_CASE

// The value of T nearest to x, or x modulo 2^bits.
template <class T>
T narrowed(long double x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<U64>(static_cast<I64>(x)));
  else if constexpr (std::is_same_v<T, F16>)
    return toF16(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, BF16>)
    return toBF16(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

template <class T, class F>
void checkCumulative(F function, bool product) {
  for (const auto [outer, n, inner] : {Extents{1, 7, 1}, Extents{3, 9, 1}, Extents{2, 6, 5}}) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        const auto input = data<T>(outer * n * inner, 3);
        std::vector<T> output(input.size());
        function(input.data(), outer, n, inner, output.data(), outer, n, inner, exclusive, reverse);
        for (I64 o = 0; o < outer; ++o) {
          for (I64 j = 0; j < inner; ++j) {
            long double total = product;  // small numbers: exact
            for (I64 i = 0; i < n; ++i) {
              const auto at = static_cast<std::size_t>((o * n + (reverse ? n - 1 - i : i)) * inner + j);
              long double x = value(input[at]);
              if constexpr (std::is_unsigned_v<T>) x = static_cast<std::make_signed_t<T>>(input[at]);
              const long double before = total;
              total = product ? total * x : total + x;
              ASSERT_TRUE(same(value(output[at]), value(narrowed<T>(exclusive ? before : total))));
            }
          }
        }
      }
    }
  }
}
#define KILN_CASE(suffix, T)                         \
  TEST(Cumulative, suffix) {                         \
    checkCumulative<T>(kiln_cumsum_##suffix, false); \
    checkCumulative<T>(kiln_cumprod_##suffix, true); \
  }
KILN_KERNEL_NUMBERS(KILN_CASE)
#undef KILN_CASE

template <class T, class F>
void checkArg(F function, bool largest) {
  for (const auto [outer, n, inner] : kExtents) {
    for (const bool last : {false, true}) {
      const auto input = data<T>(outer * n * inner, 4);
      std::vector<I64> output(static_cast<std::size_t>(outer * inner), -1);
      function(input.data(), outer, n, inner, output.data(), outer, inner, last);
      for (I64 o = 0; o < outer; ++o) {
        for (I64 j = 0; j < inner; ++j) {
          // NaN beats all, then the extreme value, then the position.
          const auto at = [&](I64 i) {
            return value(input[static_cast<std::size_t>((o * n + i) * inner + j)]);
          };
          I64 best = 0;
          for (I64 i = 1; i < n; ++i) {
            const long double x = at(i), y = at(best);
            const bool better = std::isnan(x) ? !std::isnan(y) : largest ? x > y : x < y;
            if (better || (last && same(x, y))) best = i;
          }
          ASSERT_EQ(output[static_cast<std::size_t>(o * inner + j)], best);
        }
      }
    }
  }
}
#define KILN_CASE(suffix, T)                  \
  TEST(ArgReduce, suffix) {                   \
    checkArg<T>(kiln_argmax_##suffix, true);  \
    checkArg<T>(kiln_argmin_##suffix, false); \
  }
KILN_KERNEL_NUMBERS(KILN_CASE)
#undef KILN_CASE

template <class T, class F, class G>
void checkScatter(F function, G combine) {
  constexpr I64 kRows = 7, kRow = 3, kUpdates = 40;
  auto target = data<T>(kRows * kRow, 5);
  const auto updates = data<T>(kUpdates * kRow, 6);
  std::vector<I64> indices;
  std::mt19937 random(7);
  for (I64 i = 0; i < kUpdates; ++i) indices.push_back(static_cast<I64>(random() % 11) - 2);
  indices[0] = std::numeric_limits<I64>::min();
  indices[1] = std::numeric_limits<I64>::max();
  auto want = target;
  for (I64 i = 0; i < kUpdates; ++i) {
    const I64 at = indices[static_cast<std::size_t>(i)];
    if (at < 0 || at >= kRows) continue;
    for (I64 j = 0; j < kRow; ++j) {
      T& cell = want[static_cast<std::size_t>(at * kRow + j)];
      cell = combine(cell, updates[static_cast<std::size_t>(i * kRow + j)]);
    }
  }
  function(indices.data(), kUpdates, updates.data(), kUpdates, kRow, target.data(), kRows, kRow);
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_TRUE(same(value(target[i]), value(want[i])));
}
template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(U64(a) + U64(b));
  else
    return narrowed<T>(value(a) + value(b));
}
template <class T>
T product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(U64(a) * U64(b));
  else
    return narrowed<T>(value(a) * value(b));
}
template <class T>
T largest(T a, T b) {
  return less(value(a), value(b)) ? b : a;
}
template <class T>
T smallest(T a, T b) {
  return std::isnan(value(a)) ? a : std::isnan(value(b)) || value(b) < value(a) ? b : a;
}
#define KILN_CASE(suffix, T)                                 \
  TEST(Scatter, suffix) {                                    \
    checkScatter<T>(kiln_scatter_add_##suffix, sum<T>);      \
    checkScatter<T>(kiln_scatter_mul_##suffix, product<T>);  \
    checkScatter<T>(kiln_scatter_max_##suffix, largest<T>);  \
    checkScatter<T>(kiln_scatter_min_##suffix, smallest<T>); \
  }
KILN_KERNEL_NUMBERS(KILN_CASE)
#undef KILN_CASE
#define KILN_CASE(suffix, T)                                              \
  TEST(ScatterSet, suffix) {                                              \
    checkScatter<T>(kiln_scatter_set_##suffix, [](T, T b) { return b; }); \
  }
KILN_KERNEL_WIDTHS(KILN_CASE)
#undef KILN_CASE

TEST(Compress, PositionsOfTheTrue) {
  const std::vector<U8> mask = {0, 1, 1, 0, 1};
  std::vector<I64> indices(5, -1);
  I64 count = -1;
  kiln_compress(mask.data(), 5, indices.data(), 5, &count);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(indices, (std::vector<I64>{1, 2, 4, 0, 0}));
  const std::vector<U8> none(5, 0);
  kiln_compress(none.data(), 5, indices.data(), 5, &count);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(indices, std::vector<I64>(5, 0));
}

class Nms : public testing::Test {
 protected:
  // Six boxes in three places, of which the pairs overlap by more than half.
  std::vector<float> boxes = {0, 0,  1, 1,  0, 0.1f,  1, 1.1f,  0, -0.1f, 1, 0.9f,
                              0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100,   1, 101};
  std::vector<float> scores = {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f};
  std::vector<I64> selected = std::vector<I64>(18, -1), scratch = std::vector<I64>(18);
  I64 count = -1;

  std::vector<I64> run(I64 most, float iou, float score, bool center = false) {
    kiln_nms_f32(boxes.data(), 1, 6, 4, scores.data(), 1, 1, 6, &most, &iou, &score, selected.data(), 6, 3,
                 &count, scratch.data(), 18, center);
    std::vector<I64> result;
    for (I64 i = 0; i < count; ++i) result.push_back(selected[static_cast<std::size_t>(3 * i + 2)]);
    for (std::size_t i = static_cast<std::size_t>(3 * count); i < selected.size(); ++i)
      EXPECT_EQ(selected[i], 0);
    return result;
  }
};

TEST_F(Nms, SuppressesOverlaps) {
  EXPECT_EQ(run(10, 0.5f, 0.0f), (std::vector<I64>{3, 0, 5}));
  EXPECT_EQ(run(2, 0.5f, 0.0f), (std::vector<I64>{3, 0}));
  EXPECT_EQ(run(10, 0.5f, 0.4f), (std::vector<I64>{3, 0}));
  EXPECT_EQ(run(0, 0.5f, 0.0f), std::vector<I64>{});
  EXPECT_EQ(run(std::numeric_limits<I64>::min(), 0.5f, 0.0f), std::vector<I64>{});
  EXPECT_EQ(run(10, 1.0f, 0.0f), (std::vector<I64>{3, 0, 1, 2, 4, 5}));
}

TEST_F(Nms, CornersInAnyOrderAndCentres) {
  const auto corners = boxes;
  for (std::size_t i = 0; i < boxes.size(); i += 8)
    std::swap(boxes[i], boxes[i + 2]), std::swap(boxes[i + 1], boxes[i + 3]);
  EXPECT_EQ(run(10, 0.5f, 0.0f), (std::vector<I64>{3, 0, 5}));
  for (std::size_t i = 0; i < boxes.size(); i += 4) {  // x, y, width, height
    boxes[i] = (corners[i + 1] + corners[i + 3]) / 2;
    boxes[i + 1] = (corners[i] + corners[i + 2]) / 2;
    boxes[i + 2] = corners[i + 3] - corners[i + 1];
    boxes[i + 3] = corners[i + 2] - corners[i];
  }
  EXPECT_EQ(run(10, 0.5f, 0.0f, true), (std::vector<I64>{3, 0, 5}));
}

TEST_F(Nms, EqualScoresGoByPositionAndNanIsNeverTaken) {
  scores = {0.5f, 0.5f, std::nanf(""), 0.5f, 0.5f, std::nanf("")};
  EXPECT_EQ(run(10, 0.5f, 0.0f), (std::vector<I64>{0, 3}));
  boxes.assign(boxes.size(), std::nanf(""));  // no overlap with anything
  EXPECT_EQ(run(10, 0.5f, 0.0f), (std::vector<I64>{0, 1, 3, 4}));
}

}  // namespace
}  // namespace kiln::kernels
