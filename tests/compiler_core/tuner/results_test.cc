#include "compiler_core/tuner/results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kiln::tuner {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double distance(std::vector<float> here, std::vector<float> there) {
  return Results({{Element::kF32, here.size()}}, {here.data()}).distanceOf({there.data()});
}

TEST(ResultsTest, AreAsFarApartAsTheirLargestDifferenceOverTheLargest) {
  EXPECT_EQ(distance({1, -8, 2}, {1, -8, 2}), 0);
  EXPECT_EQ(distance({1, -8, 2}, {1, -7, 2.5f}), 1.0 / 8);
  EXPECT_EQ(distance({0, 0}, {0, 1}), kInfinity);
  EXPECT_EQ(distance({kInfinity, NAN, 4}, {kInfinity, NAN, 5}), 0.25);
  EXPECT_EQ(distance({1, 4}, {NAN, 4}), kInfinity);
  EXPECT_EQ(distance({1, kInfinity}, {1, 4}), kInfinity);
}

TEST(ResultsTest, OfSeveralTensorsTheFarthestCounts) {
  std::vector<double> a = {2, 4}, b = {2, 5};
  std::vector<float> c = {1}, d = {1};
  std::vector<std::int32_t> i = {7}, j = {8};
  const Results results({{Element::kF32, 1}, {Element::kF64, 2}, {Element::kI32, 1}},
                        {c.data(), a.data(), i.data()});
  EXPECT_EQ(results.distanceOf({d.data(), b.data(), i.data()}), 0.25);
  EXPECT_EQ(results.distanceOf({d.data(), a.data(), i.data()}), 0);
  EXPECT_EQ(results.distanceOf({d.data(), a.data(), j.data()}), kInfinity) << "integers are the same or not";
}

}  // namespace
}  // namespace kiln::tuner
