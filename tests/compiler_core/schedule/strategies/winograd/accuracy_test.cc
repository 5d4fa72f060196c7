// How exact Winograd's tiles are: errors beside those of sums in the model's order, both against exact sums.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "compiler_core/reference/inputs.h"
#include "compiler_core/schedule/strategies/winograd/choice.h"
#include "compiler_core/schedule/strategies/winograd/knobs.h"
#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

constexpr int kResults = 16, kSize = 16, kPlane = kSize * kSize;

std::vector<float> numbersOf(const HostTensor& tensor) {
  std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
  return numbers;
}

// An image of numbers from -1 to 1; of a layer behind a rectifier, of those above 0.
HostTensor imageOf(int channels, bool rectified) {
  auto numbers = numbersOf(reference::makeInput("image", DType::kF32, {1, channels, kSize, kSize}, 1));
  for (float& number : numbers)
    if (rectified) number = std::max(number, 0.0f);
  return HostTensor::of<float>(DType::kF32, {1, channels, kSize, kSize}, numbers);
}

// With zeros around the image, in f64: as good as exact.
std::vector<double> exactly(const std::vector<float>& image, const std::vector<float>& weights,
                            int channels) {
  std::vector<double> results(kResults * kPlane);
  for (int r = 0; r < kResults; ++r)
    for (int y = 0; y < kSize; ++y)
      for (int x = 0; x < kSize; ++x)
        for (int c = 0; c < channels; ++c)
          for (int i = 0; i < 9; ++i) {
            const int row = y + i / 3 - 1, column = x + i % 3 - 1;
            if (row < 0 || row >= kSize || column < 0 || column >= kSize) continue;
            results[r * kPlane + y * kSize + x] +=
                static_cast<double>(image[c * kPlane + row * kSize + column]) *
                weights[(r * channels + c) * 9 + i];
          }
  return results;
}

// The convolution's results under its schedule in the model's order, but for the tiles.
Result<std::vector<float>> under(std::int64_t winograd, int channels, const HostTensor& image) {
  const std::string text = fmt::format(R"(
func.func @main(%x: tensor<1x{0}x{2}x{2}xf32>) -> tensor<1x{1}x{2}x{2}xf32> {{
  %w = kiln.weight 0 : tensor<{1}x{0}x3x3xf32>
  %0 = kiln.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1
    : (tensor<1x{0}x{2}x{2}xf32>, tensor<{1}x{0}x3x3xf32>) -> tensor<1x{1}x{2}x{2}xf32>
  return %0 : tensor<1x{1}x{2}x{2}xf32>
}})",
                                       channels, kResults, kSize);
  CheckOptions options;
  options.reassociation = schedule::Reassociation::kOn;
  options.absolute = 1e-3;
  options.inputs = {image};
  schedule::ScheduleOverrides given;
  options.onKernel = [&](const schedule::KernelFound& kernel) {
    if (kernel.site.shape.kind != schedule::KernelKind::kConvolution) return;
    Schedule schedule = kernel.standard;
    schedule::setNumber(schedule, schedule::kWinogradKnob, winograd);
    given[kernel.signature] = {"convolution", schedule, ""};
  };
  KILN_TRY(checkText(text, options));
  options.given = &given;
  KILN_ASSIGN(const Checked checked, checkText(text, options));
  return numbersOf(checked.outputs.at(0));
}

double errorOf(const std::vector<float>& got, const std::vector<double>& exact) {
  double sum = 0;
  for (std::size_t i = 0; i < got.size(); ++i) sum += (got[i] - exact[i]) * (got[i] - exact[i]);
  return std::sqrt(sum / static_cast<double>(got.size()));
}

class WinogradAccuracy : public ::testing::TestWithParam<std::tuple<int, bool>> {};

INSTANTIATE_TEST_SUITE_P(Convolutions, WinogradAccuracy,
                         ::testing::Combine(::testing::Values(8, 16, 32, 64, 256), ::testing::Bool()),
                         [](const auto& info) {
                           return fmt::format("{}channels{}", std::get<0>(info.param),
                                              std::get<1>(info.param) ? "rectified" : "");
                         });

TEST_P(WinogradAccuracy, OfTheDefaultsTilesIsWithinTheBound) {
  const auto [channels, rectified] = GetParam();
  const HostTensor image = imageOf(channels, rectified);
  const std::vector<float> weights =
      numbersOf(reference::makeInput("weight 0", DType::kF32, {kResults, channels, 3, 3}, 1));
  const std::vector<double> exact = exactly(numbersOf(image), weights, channels);
  std::map<int, double> errors;
  for (const int tiles : {0, 2, 4}) {
    const auto got = under(tiles, channels, image);
    ASSERT_TRUE(got) << got.error().message;
    errors[tiles] = errorOf(*got, exact);
  }
  ASSERT_GT(errors[0], 0);
  // The table of CONVOLUTIONS.md.
  fmt::print("{} channels{}: {:.2f} of 2 x 2, {:.2f} of 4 x 4\n", channels, rectified ? ", rectified" : "",
             errors[2] / errors[0], errors[4] / errors[0]);
  EXPECT_LE(errors[2], errors[0]) << "as exact as sums in the model's order";
  const double most = schedule::kMostWinogradError * errors[0];
  if (channels >= schedule::kLeastInputsOfFour)
    EXPECT_LE(errors[4], most);
  else if (channels == 8 && rectified)
    EXPECT_GT(errors[4], most) << "there the bound keeps the default from these tiles";
}

}  // namespace
}  // namespace kiln::testing
